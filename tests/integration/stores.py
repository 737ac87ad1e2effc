"""Reads the SQLite files of running programs, from a copy: a program may hold its file alone."""

import collections
import json
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from waiting import wait_until


# Numbers on flash: Table in core/store.h, Op in storage/change.h, Phase in core/handshake/row.h.
TABLES = {"meta": 1, "object": 2, "row": 3, "release": 4, "node": 5, "slot": 6, "high": 7, "queue": 8}
PUT, ERASE, BEGIN, ADVANCE = 1, 2, 3, 4
PHASES = {0: "none", 1: "prebind", 2: "bind", 3: "bound", 4: "release"}

Content = collections.namedtuple("Content", "value phase")  # value: the JSON; phase: its word, of rows only


def state_of_(paths):
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.exists()]


def copy_database(source, folder):
    """A consistent copy of a database and its write-ahead log. Copies again when it changed meanwhile."""
    source = Path(source)
    files = [source, source.with_name(source.name + "-wal")]
    target = Path(folder) / source.name

    def copied():
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

    wait_until(copied, f"a quiet moment of {source.name}")
    return target


class Database:
    """A snapshot of a store: use as a context manager; .rows("select ...") gives sqlite3.Row values."""

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
        """Everything of one table of core/store.h by key: what is recorded, with the journal applied to it."""
        number = TABLES[table]
        assert "journal" in self.tables(), "the store is being made"
        contents = {key: (value, phase) for key, value, phase in
                    self.rows("select key, value, phase from record where tbl = ?", number)}
        for op, key, value, phase in self.rows(
                "select op, key, value, phase from journal where tbl = ? order by position", number):
            if op == PUT:
                contents[key] = (value, contents.get(key, (None, 0))[1])
            elif op == BEGIN:
                contents[key] = (value, phase)
            elif op == ERASE:
                contents.pop(key, None)
            elif op == ADVANCE and key in contents:
                contents[key] = (contents[key][0], phase)
            elif op != ADVANCE:
                raise AssertionError(f"operation {op} in the journal")
        return {key: Content(json.loads(value), PHASES[phase]) for key, (value, phase) in sorted(contents.items())}

    def tables(self):
        return [row[0] for row in self.rows("select name from sqlite_master where type = 'table' order by name")]


def disk_bytes(folder):
    """Bytes of every file below a state folder."""
    return sum((Path(top) / name).stat().st_size for top, _, names in os.walk(folder) for name in names)
