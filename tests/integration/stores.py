"""Reads the SQLite files of running programs from a copy, since a program may hold its file exclusively."""

import collections
import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import uuid
import zlib
from pathlib import Path

from waiting import wait_until


# Numbers on flash: Table in core/store.h, Op in storage/change.h, Phase in core/handshake/row.h.
TABLES = {"meta": 1, "object": 2, "row": 3, "release": 4, "node": 5, "slot": 6, "high": 7, "queue": 8}
PUT, ERASE, BEGIN, ADVANCE = 1, 2, 3, 4
PLAIN, SQUEEZED = 3, 4
PHASES = {0: "none", 1: "prebind", 2: "bind", 3: "bound", 4: "release"}

Content = collections.namedtuple("Content", "value phase")  # value: the JSON; phase: a row's phase by name


class Bytes:
    """core/bytes.h"""

    def __init__(self, data):
        self.data, self.at = data, 0

    def raw(self, count):
        assert self.at + count <= len(self.data), "truncated data"
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.raw(1)[0]

    def number(self):
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 0x7f) << shift
            shift += 7
            if part < 0x80:
                return value

    def integer(self):
        folded = self.number()
        return folded >> 1 ^ -(folded & 1)

    def text(self):
        return self.raw(self.number())

    def id(self):
        size = self.number()
        return str(uuid.UUID(bytes=self.raw(16))) if size == 0 else self.raw(size - 1).decode()

    def at_end(self):
        return self.at == len(self.data)


def number(value):
    made = b""
    while value >= 0x80:
        made += bytes([value & 0x7f | 0x80])
        value >>= 7
    return made + bytes([value])


def unsqueeze(data):
    """storage/squeeze.h"""
    source = Bytes(data)
    size, made = source.number(), bytearray()
    while True:
        head = source.byte()
        plain, repeated = head >> 4, head & 15
        plain += source.number() if plain == 15 else 0
        repeated += source.number() if repeated == 15 else 0
        made += source.raw(plain)
        if source.at_end():
            assert len(made) == size
            return bytes(made)
        distance = source.number()
        for _ in range(repeated + 4):
            made.append(made[-distance])


def open_entry(entry):
    """Decodes an entry (storage/entry.h); yields (op, table, key, value, phase) per change."""
    assert entry[0] in (PLAIN, SQUEEZED), "unknown entry form"
    assert zlib.crc32(entry[:1] + entry[5:]) == int.from_bytes(entry[1:5], "little"), "checksum mismatch in an entry"
    changes = entry[5:] if entry[0] == PLAIN else unsqueeze(entry[5:])
    source = Bytes(changes)
    while not source.at_end():
        head = source.byte()
        op, table, key = head & 7, head >> 3, source.id()
        phase = source.integer() if op in (BEGIN, ADVANCE) else 0
        yield op, table, key, source.text() if op in (PUT, BEGIN) else None, phase


def decoded(table, key, value):
    """A value as JSON. Pods, nodes (core/objects/pod_record.h, node_record.h) and rows (core/handshake/row.h) are binary; they
    get the members that their JSON form would have."""
    if value[:1] not in (b"\x01", b"\x02"):
        return json.loads(value)
    source = Bytes(value[1:])
    if table == "object":
        source.number(), source.integer()
        uid, shape = source.id().encode(), source.text()
        name = key.rpartition("/")[2].encode()
        whole = shape[1:] if shape.startswith(b"\x03") else shape.replace(b"\x01", uid).replace(b"\x02", name)
        return {"manifest": json.loads(whole)}
    if table == "node":
        incarnation, facts = source.id(), source.text()
        return {"incarnation": incarnation, **({"facts": json.loads(facts)} if facts else {})}
    assert table == "row", f"a binary value in {table}"
    uid, pod = source.id(), source.text().decode()
    epoch = f"{source.number()}.{source.number()}"
    node, incarnation = source.text().decode(), source.id()
    source.integer()
    volumes = [{name: source.text().decode() for name in ("claim", "volume", "path")} for _ in range(source.number())]
    return {"uid": uid, "pod": pod, "epoch": epoch, "node": node, "incarnation": incarnation, "volumes": volumes}


def seal_entry(changes):
    """The inverse of open_entry; keys are text."""
    made = b""
    for op, table, key, value, phase in changes:
        made += bytes([op | table << 3]) + number(len(key.encode()) + 1) + key.encode()
        if op in (BEGIN, ADVANCE):
            made += number(phase << 1)
        if op in (PUT, BEGIN):
            made += number(len(value)) + value
    form = bytes([PLAIN])
    return form + zlib.crc32(form + made).to_bytes(4, "little") + made


def state_of_(paths):
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.exists()]


def copy_database(source, folder):
    """Makes a consistent copy of a database and its write-ahead log; retries if they change during the copy."""
    source = Path(source)
    files = [source, source.with_name(source.name + "-wal")]
    target = Path(folder) / source.name

    def copied():
        with contextlib.suppress(FileNotFoundError):  # the program may remove its log while we copy
            return copied_now()
        return False

    def copied_now():
        before = state_of_(files)
        assert before, f"{source} does not exist"
        for old in Path(folder).iterdir():
            old.unlink()
        for path in files:
            if path.exists():
                shutil.copyfile(path, Path(folder) / path.name)
        if state_of_(files) != before:
            return False
        with sqlite3.connect(target) as database:
            return database.execute("pragma integrity_check").fetchone()[0] == "ok"

    wait_until(copied, f"a consistent copy of {source.name}")
    return target


class Database:
    """A snapshot of a store, used as a context manager; .rows("select ...") returns sqlite3.Row values."""

    def __init__(self, source):
        self.folder_ = tempfile.mkdtemp(prefix="berth-store-")
        try:
            self.connection_ = sqlite3.connect(copy_database(source, self.folder_))
        except BaseException:
            shutil.rmtree(self.folder_)
            raise
        self.connection_.row_factory = sqlite3.Row

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection_.close()
        shutil.rmtree(self.folder_)

    def rows(self, query, *values):
        return self.connection_.execute(query, values).fetchall()

    def records(self, table):
        """The records of one table of core/store.h by key: the journal's changes applied in order."""
        number_of_table = TABLES[table]
        assert "journal" in self.tables(), "the store is still being created"
        contents = {}
        changes = [change for entry in self.rows("select changes from journal order by id")
                   for change in open_entry(entry["changes"])]
        for op, its_table, key, value, phase in changes:
            if its_table != number_of_table:
                continue
            if op == PUT:
                contents[key] = (value, contents.get(key, (None, 0))[1])
            elif op == BEGIN:
                contents[key] = (value, phase)
            elif op == ERASE:
                contents.pop(key, None)
            elif op == ADVANCE and key in contents:
                contents[key] = (contents[key][0], phase)
            elif op != ADVANCE:
                raise AssertionError(f"unknown operation {op} in the journal")
        return {key: Content(decoded(table, key, value), PHASES[phase]) for key, (value, phase) in sorted(contents.items())}

    def tables(self):
        return [row[0] for row in self.rows("select name from sqlite_master where type = 'table' order by name")]


def disk_bytes(folder):
    """Total size of all files below a state folder, in bytes."""
    return sum((Path(top) / name).stat().st_size for top, _, names in os.walk(folder) for name in names)
