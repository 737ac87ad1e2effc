"""A device that says one lie after another, at full speed: other nodes' pods start, and neither flash nor memory of the
gateway grows with the number of messages. `tests/bench/hostile.py` measures a minute of it."""

import pytest
from device import FakeDevice
from hostile import LIES, take_over, tell
from manifests import pod
from test_memory import resident
from test_status_pages import metric

MESSAGES = 3_000
STORE_BYTES = 100_000  # ten states that are taken, a turn each, and a pod
MEMORY_BYTES = 8 << 20


@pytest.mark.parametrize("lie", LIES)
def test_one_lie_after_another_harms_nobody(fleet, lie):
    fleet.start("n1")
    fleet.apply(pod("before", nodeSelector={"kubernetes.io/hostname": "n1"}))
    fleet.wait_running("before", node="n1")
    device = FakeDevice(fleet, fleet.port, "liar")
    try:
        fleet.wait_node("liar")
        written = metric(fleet, "berth_store_bytes_written_total")
        memory = resident(fleet.programs["berthd"])
        tell(device, lie, lambda number: number < MESSAGES)
        fleet.apply(pod("after", nodeSelector={"kubernetes.io/hostname": "n1"}))
        fleet.wait_running("after", node="n1")
        assert metric(fleet, "berth_store_bytes_written_total") - written < STORE_BYTES
        assert resident(fleet.programs["berthd"]) - memory < MEMORY_BYTES
    finally:
        device.close()


def test_connections_under_the_client_ids_of_others_end_nobodys_session(embedded):
    embedded.start("n1")
    embedded.client("n2").close()  # its account is all that the device has
    links = metric(embedded, "berth_broker_connections_total")
    written = metric(embedded, "berth_store_bytes_written_total")
    memory = resident(embedded.programs["berthd"])
    assert take_over(embedded, "n2", lambda number: number < 600) == 300
    embedded.apply(pod("after", nodeSelector={"kubernetes.io/hostname": "n1"}))
    embedded.wait_running("after", node="n1")
    assert metric(embedded, "berth_broker_connections_total") == links
    assert embedded.programs["n1"].output().count("mqtt link up") == 1
    assert metric(embedded, "berth_store_bytes_written_total") - written < STORE_BYTES
    assert resident(embedded.programs["berthd"]) - memory < MEMORY_BYTES
