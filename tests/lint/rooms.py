"""The rooms of core: each include between them follows an arrow of the list in core/README.md, which has no cycle.

The list is a fenced block of the language `rooms`, a line each: `room -> room, room`, or `room` alone for one that
includes none. Files of core itself are the seams: every room may include them, and they include no room.
"""

import re

from includes import INCLUDE
from source import Finding, line_of, masked

README = "core/README.md"
BLOCK = re.compile(r"^```rooms\n(.*?)^```", re.M | re.S)
LINE = re.compile(r"(\w+)(?:\s*->\s*(\w+(?:\s*,\s*\w+)*))?")


def room_of(path):
    """The folder of core that a file lies in; empty: a seam; None: not of core."""
    parts = path.split("/")
    if parts[0] != "core" or len(parts) < 2:
        return None
    return parts[1] if len(parts) > 2 else ""


def read_arrows(text):
    """({room: {room that it may include: line}}, {room: line}, findings) of the README's block."""
    arrows, lines, found = {}, {}, []
    block = BLOCK.search(text)
    if block is None:
        return arrows, lines, [Finding(README, 1, "no list of rooms; draw one in a fenced block: ```rooms")]
    first = line_of(text, block.start(1))
    for number, line in enumerate(block.group(1).splitlines(), first):
        if not line.strip():
            continue
        entry = LINE.fullmatch(line.strip())
        if entry is None:
            found.append(Finding(README, number, f'"{line.strip()}" is no line of the list; write "room -> room, room"'))
            continue
        name = entry.group(1)
        if name in lines:
            found.append(Finding(README, number, f"{name} has a line already; give each room one line"))
        lines.setdefault(name, number)
        for other in re.findall(r"\w+", entry.group(2) or ""):
            arrows.setdefault(name, {})[other] = number
    return arrows, lines, found


def cycle_of(arrows):
    """A cycle as the rooms on it, the first one again at the end; empty when there is none."""
    done = set()

    def visit(name, trail):
        if name in trail:
            return [*trail[trail.index(name):], name]
        if name in done:
            return []
        for other in sorted(arrows.get(name, {})):
            cycle = visit(other, [*trail, name])
            if cycle:
                return cycle
        done.add(name)
        return []

    for name in sorted(arrows):
        cycle = visit(name, [])
        if cycle:
            return cycle
    return []


def includes_between(tree):
    """(path, line, room, included file, its room) of each include from one room of core to another."""
    for path in tree.cpp():
        here = room_of(path)
        if here is None:
            continue
        code = masked(tree.text(path), keep_includes=True)
        for match in INCLUDE.finditer(code):
            there = room_of(match.group(2)) if match.group(1) == '"' else None
            if there and there != here:
                yield path, line_of(code, match.start()), here, match.group(2), there


def check_list(tree, arrows, lines):
    rooms = {room_of(path) for path in tree.cpp()} - {None, ""}
    for name in sorted(rooms - set(lines)):
        yield Finding(README, 1, f"core/{name} is missing in the list of rooms; add what it may include")
    for name in sorted(set(lines) - rooms):
        yield Finding(README, lines[name], f"core/{name} does not exist; remove its line")
    for name, others in arrows.items():
        for other in sorted(set(others) - set(lines)):
            yield Finding(README, others[other], f"{name} -> {other}: {other} has no line of its own")
    cycle = cycle_of(arrows)
    if cycle:
        yield Finding(README, lines[cycle[0]], f"the rooms include each other in a circle: {' -> '.join(cycle)}; move "
                                               "what two of them need into one that both may include")


def check(tree):
    if not any(room_of(path) for path in tree.cpp()):
        return
    arrows, lines, found = read_arrows(tree.text(README) if README in tree.paths else "")
    yield from found
    if not lines:
        return
    yield from check_list(tree, arrows, lines)
    used = set()
    for path, line, here, name, there in includes_between(tree):
        used.add((here, there))
        if here == "":
            yield Finding(path, line, f'include "{name}": a seam may not include a room; move the file into a room')
        elif there not in arrows.get(here, {}):
            yield Finding(path, line, f'include "{name}": {here} may not include {there}, as {README} draws no arrow '
                                      f"{here} -> {there}; move the code to the side that may")
    for here, others in arrows.items():
        for there, line in others.items():
            if (here, there) not in used:
                yield Finding(README, line, f"{here} -> {there}: no file needs this arrow any more; take it out")
