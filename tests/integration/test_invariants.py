"""Checks that each invariant check detects a violation, on stores with the real schema and on real processes."""

import json
import sqlite3
from pathlib import Path

import pytest
from invariants import assert_one_place, violations, wait_settled, workloads
from programs import Program
from stores import Content, Database, seal_entry
from waiting import wait_until

SCHEMA = Path(__file__).resolve().parents[2] / "storage" / "schema.sql"


def row(uid="u1", node="n1", epoch="1.5", phase="bound"):
    return {uid: Content({"uid": uid, "node": node, "epoch": epoch}, phase)}


def slot(uid="u1", epoch="1.5", state="running"):
    return {uid: Content({"epoch": epoch, "state": state}, "none")}


def test_a_consistent_fleet_violates_no_invariant():
    assert violations(row(), {}, {"n1": slot(), "n2": {}}) == []
    assert violations(row(), {}, {"n1": slot(state="finished")}) == []


@pytest.mark.parametrize("rule, rows, slots", [
    ("S2", {**row(), **row("u2", "n2")}, {"n1": slot(), "n2": slot("u2")}),
    ("S4", row(), {"n1": slot(), "n2": slot()}),
    ("S5", row(), {"n1": {}}),
    ("S5", row(epoch="1.6"), {"n1": slot()}),
    ("S5", row(), {"n1": slot(state="stopping")}),
    ("S7", {}, {"n1": slot(state="prepared")}),
    ("S7", row(), {"n1": slot(), "n2": slot(state="finished")}),
])
def test_a_violated_invariant_is_named(rule, rows, slots):
    assert any(wrong.startswith(rule) for wrong in violations(rows, {}, slots))


def test_a_release_list_entry_accounts_for_a_slot():
    entry = {"n2/u1/1.4": Content({"node": "n2", "uid": "u1", "epoch": "1.4"}, "none")}
    assert violations(row(), entry, {"n1": slot(), "n2": slot(epoch="1.4", state="prepared")}) == []


def test_a_pod_that_runs_on_two_nodes_is_found_among_the_processes(tmp_path):
    def start(node):
        tag = f"BERTH_TAG=plant-{tmp_path.name}/{node}/u1/1.5"
        return Program(node, ["/usr/bin/env", tag, "sleep", "1000"], tmp_path).start()

    start("n1")
    fleet = f"plant-{tmp_path.name}"
    wait_until(lambda: len(workloads(fleet)) == 1, "the first workload")
    assert_one_place(fleet)
    start("n2")
    wait_until(lambda: len(workloads(fleet)) == 2, "the second workload")
    with pytest.raises(AssertionError, match="S4"):
        assert_one_place(fleet)


def append(store, *changes):
    entry = [(op, table, key, None if value is None else json.dumps(value).encode(), phase)
             for op, table, key, value, phase in changes]
    store.execute("insert into journal (position, changes) values (1, ?)", (seal_entry(entry),))


@pytest.fixture
def write(fleet):
    """write(program, *entries) creates a store as the program would leave it. Entries: (op, table, key, value, phase)."""

    def make(name, *journal):
        store = sqlite3.connect(fleet.state_dir(name) / "store.db", isolation_level=None)
        store.executescript(SCHEMA.read_text(encoding="utf-8"))
        for change in journal:
            append(store, change)
        store.close()
        fleet.programs.setdefault(name, Program(name, ["true"], fleet.folder))

    return make


def test_a_store_is_read_by_applying_its_journal(fleet, write):
    write("berthd", (3, 3, "u1", {"a": 1}, 1), (4, 3, "u1", None, 2), (1, 3, "u1", {"a": 2}, 0), (4, 3, "no", None, 2),
          (1, 4, "other", {}, 0), (3, 3, "u2", {}, 1), (2, 3, "u2", None, 0), (3, 3, "u3", {}, 3))
    store = fleet.state_dir("berthd") / "store.db"
    with Database(store) as snapshot:
        assert snapshot.records("row") == {"u1": Content({"a": 2}, "bind"), "u3": Content({}, "bound")}


def test_waits_until_the_fleet_has_settled(fleet, write):
    value = {"uid": "u1", "node": "n1", "epoch": "1.5"}
    write("berthd", (3, 3, "u1", value, 1))
    write("n1", (1, 6, "u1", {"epoch": "1.5", "state": "running"}, 0))
    with pytest.raises(AssertionError, match="L2: row .* is still in prebind"):
        wait_settled(fleet, timeout_s=0.2)
    store = sqlite3.connect(fleet.state_dir("berthd") / "store.db", isolation_level=None)
    append(store, (4, 3, "u1", None, 3))
    assert wait_settled(fleet) == {"u1": Content(value, "bound")}
