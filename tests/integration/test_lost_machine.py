"""The gateway's machine is lost, or its store together with the embedded broker: what the devices run goes on."""

import os
import re
import signal

from invariants import wait_each_runs_once, workloads
from manifests import counted_pod, starts
from waiting import wait_until


def lose_store(fleet):
    """Kills the gateway and its broker, and removes the store with all that belongs to it. The directory stays."""
    fleet.forget_seen()
    broker = fleet.broker_pid()
    fleet.kill("berthd")
    if broker:
        os.kill(broker, signal.SIGKILL)
    for path in [*fleet.state_dir("berthd").glob("gateway.*")]:
        path.unlink()
    return broker


def wait_status(fleet, text):
    wait_until(lambda: re.search(text, fleet.ctl("status", check=False).stdout, re.M), text)


def places(fleet):
    return sorted((where.node, where.uid) for where in workloads(fleet.name))


def test_a_store_lost_with_the_embedded_broker_waits_for_every_account(embedded, tmp_path):
    embedded.start("n1", "n2")
    names = [f"web-{n}" for n in range(4)]
    embedded.apply(*(counted_pod(name, tmp_path) for name in names))
    wait_each_runs_once(embedded, *names)
    before = places(embedded)
    embedded.kill("n2")
    broker = lose_store(embedded)
    embedded.restart("berthd")
    embedded.wait_broker(after=broker)
    wait_status(embedded, "the store was lost: .* before pods are placed: n2$")
    embedded.restart("n2")
    wait_status(embedded, "^ready +yes$")
    assert places(embedded) == before
    assert [starts(name, tmp_path) for name in names] == [1] * 4


def test_the_operator_ends_the_waiting_and_is_told_which_nodes_have_not_answered(embedded, tmp_path):
    embedded.start("n1", "n2")
    embedded.kill("n2")
    broker = lose_store(embedded)
    embedded.restart("berthd")
    embedded.wait_broker(after=broker)
    wait_status(embedded, "before pods are placed: n2$")
    ended = embedded.ctl("adopt", "done")
    assert "not answered: n2" in ended.stdout and "second time" in ended.stderr
    embedded.apply(counted_pod("web", tmp_path))
    embedded.wait_running("web", node="n1")
    again = embedded.ctl("adopt", "done", check=False)
    assert again.returncode == 1 and "not in adopt mode" in again.stderr


def test_a_new_installation_waits_for_nobody_and_init_makes_a_directory_new(embedded, tmp_path):
    embedded.start("n1")  # n2 has an account too
    embedded.apply(counted_pod("web", tmp_path))
    embedded.wait_running("web", node="n1")
    embedded.kill("n1")
    embedded.ctl("forget", "node", "n1")
    broker = lose_store(embedded)
    embedded.init_gateway()
    embedded.restart("berthd")
    embedded.wait_broker(after=broker)
    wait_status(embedded, "^ready +yes$")
