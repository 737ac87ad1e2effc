"""What changes something in core is called by the product, not by tests alone: else they test what nobody runs.

Looked at are the public member functions of the classes in the rooms of core that are neither const, static nor virtual.
Functions are told apart by name only, so one of a name that is called elsewhere is not found; calls count in the room
itself, in rooms that may include it, directly or not, and outside of core.
"""

import re

from methods import ACCESS, NESTED, TYPE, WITH_PARENS, is_method
from rooms import README, read_arrows, room_of
from source import Finding, line_of, masked, matching, room

NAME = re.compile(r"([\w~]+)\s*\(")
NOT_LOOKED_AT = re.compile(r"\b(?:static|virtual|override|friend|operator|template)\b|=\s*(?:default|delete)\s*$")
INITIALISER = re.compile(r"\s*(?:,\s*[\w:<>]+\s*[({]|\{)")
# A word in front of a name makes it a declaration, unless it is one of these.
BEFORE_A_CALL = {"return", "co_return", "co_await", "co_yield", "else", "do", "throw", "case"}
QUALIFIED = re.compile(r"[\w>]\s*::\s*$")
TYPED = re.compile(r"(\w+)\s+$|[\w>][&*]+\s*$|>\s*$")


def members(body):
    """(declaration, offset) of the member functions that the text between a class's braces declares."""
    at = start = 0
    while at < len(body):
        char = body[at]
        if char == "(":
            at = matching(body, at)
        elif char in ";{":
            head = ACCESS.sub(lambda match: " " * len(match.group(0)), body[start:at])
            close = matching(body, at) if char == "{" else at
            found = is_method(head)
            if found:
                # A constructor's initialisers in braces come before its body.
                while char == "{" and INITIALISER.match(body[close + 1:]) and re.search(r"\)\s*:(?!:)", head):
                    close = matching(body, body.index("{", close + 1))
                yield head, start + len(head) - len(head.lstrip())
            if found or char == ";" or NESTED.match(head):
                start = close + 1
            at = close
        at += 1


def is_public(kind, body, offset):
    access = [match.group(0) for match in ACCESS.finditer(body, 0, offset)]
    return access[-1].startswith("public") if access else kind != "class"


def changing(text):
    """(class, function, line) of the public member functions of a masked header that may change something."""
    for owner in TYPE.finditer(text):
        brace = owner.end() - 1
        body = text[brace + 1:matching(text, brace)]
        for head, offset in members(body):
            plain, before = WITH_PARENS.sub("", head), None
            while before != plain:
                before, plain = plain, re.sub(r"<[^<>]*>", "", plain)
            name = NAME.search(plain)
            if NOT_LOOKED_AT.search(head) or name.group(1).lstrip("~") == owner.group(1):
                continue
            is_const = re.match(r"\s*const\b", plain[matching(plain, name.end() - 1) + 1:])
            if not is_const and is_public(owner.group(0).split()[0], body, offset):
                yield owner.group(1), name.group(1), line_of(text, brace + 1 + offset)


def called(text):
    """The names that are called, or whose address is taken, in masked C++ text."""
    names = set()
    for match in re.finditer(r"\b([a-z]\w*)\s*\(", text):
        before = text[max(0, match.start() - 80):match.start()]
        if QUALIFIED.search(before):
            continue
        typed = TYPED.search(before)
        if typed is None or typed.group(1) in BEFORE_A_CALL or before.rstrip().endswith("->"):
            names.add(match.group(1))
    names.update(re.findall(r"&\s*\w+::(\w+)\b(?!\s*\()", text))
    return names


def seen_from(arrows, name):
    """The rooms that may include `name`, directly or by way of others."""
    seen, more = set(), {name}
    while more:
        seen |= more
        more = {here for here, others in arrows.items() if seen & set(others)} - seen
    return seen


def check(tree):
    arrows, _, _ = read_arrows(tree.text(README) if README in tree.paths else "")
    calls = {path: called(masked(tree.text(path))) for path in tree.cpp() if room(path) != "tests"}
    for path in tree.cpp():
        here = room_of(path)
        if not here or not path.endswith(".h"):
            continue
        rooms = seen_from(arrows, here) | {None}
        names = set().union(*(found for other, found in calls.items() if room_of(other) in rooms))
        for owner, name, line in changing(masked(tree.text(path))):
            if name not in names:
                yield Finding(path, line, f"{owner}::{name}() changes something, and nothing but tests calls it; call it where "
                                          "the product does what it does, or remove it")
