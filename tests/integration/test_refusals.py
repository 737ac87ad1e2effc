"""A device that refuses a pod is believed: the pod runs on another one (D6)."""

from device import FakeDevice
from manifests import counted_pod, starts
from waiting import wait_until


def test_a_pod_that_its_preferred_device_refuses_runs_on_the_other_one_and_says_why(fleet, tmp_path):
    fleet.start("edge-b")
    picky = FakeDevice(fleet, fleet.port, "edge-a",
                       {"PreBind": lambda request: {"type": "Rejected", "reason": "volume data: no directory /srv/data"}})
    fleet.wait_node("edge-a")
    pod = counted_pod("web", tmp_path)
    pod["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "preference": {"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["edge-a"]}]}}]}}
    fleet.apply(pod)
    picky.wait_asked("PreBind")
    fleet.wait_running("web", node="edge-b")
    wait_until(lambda: starts("web", tmp_path) == 1, "the start of the pod")

    only_there = counted_pod("pinned", tmp_path)
    only_there["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "edge-a"}
    fleet.apply(only_there)
    fleet.wait_pending("pinned", "1 node(s) refused the pod: volume data: no directory /srv/data")
    asked = len([request for request in picky.asked if request["type"] == "PreBind"])
    explained = fleet.ctl("explain", "pod", "pinned").stdout
    assert "DeviceRefusals" in explained and "no directory /srv/data" in explained, explained
    assert len([request for request in picky.asked if request["type"] == "PreBind"]) == asked

    picky.rules["PreBind"] = lambda request: {"type": "PreBound"}
    picky.rules["Bind"] = lambda request: {"type": "Bound"}
    picky.publish_state(allocatable={"cpu": "4", "memory": "512Mi", "pods": "20"})  # another fact: it is asked again
    fleet.wait_pod("pinned", lambda status: status.get("nodeName") == "edge-a")
    picky.close()
