"""berthctl explain and plan with real programs: why a pod is where it is, and where one would be placed."""

import json

import pytest
from manifests import LOCAL_CLASS, claim, pod, with_claim
from waiting import wait_until


def explain(fleet, name, *more):
    return fleet.ctl("explain", "pod", name, *more).stdout


def record(fleet, name, *more):
    return json.loads(explain(fleet, name, "-o", "json", *more))


def plan(fleet, tmp_path, *manifests, arguments=()):
    path = tmp_path / "plan.yaml"
    path.write_text("\n---\n".join(json.dumps(manifest) for manifest in manifests), encoding="utf-8")
    return fleet.ctl("plan", "-f", path, *arguments, check=False)


def last_event(fleet, name):
    """The pod's latest FailedScheduling event, as `berthctl describe` shows it."""
    lines = [line for line in fleet.ctl("describe", "pod", name).stdout.splitlines() if "FailedScheduling" in line]
    return lines[-1]


def durable(fleet):
    """The files of the gateway's store, byte for byte."""
    state = fleet.state_dir("berthd")
    return {path.name: path.read_bytes() for path in sorted(state.glob("*.db*")) if not path.name.endswith("-shm")}


def quiet(fleet):
    """Waits until the store is unchanged over several reads; returns its contents."""
    seen = []

    def unchanged():
        seen.append(durable(fleet))
        return len(seen) > 4 and all(each == seen[-1] for each in seen[-4:])

    wait_until(unchanged, "the store to stop changing")
    return seen[-1]


def queue_counts(fleet):
    return json.loads(fleet.ctl("status", "-o", "json").stdout)["queue"]


def test_a_pending_pod_is_explained_with_the_message_of_its_event(fleet):
    fleet.start("n1", "n2")
    fleet.apply(pod("huge", memory="64Gi"))
    fleet.wait_pending("huge", "0/2 nodes are available")
    page = explain(fleet, "huge")
    first = page.splitlines()[0]
    assert first.startswith("0/2 nodes are available: 2 Insufficient memory")
    assert first in last_event(fleet, "huge")
    assert "NodeResourcesFit" in page and "n1, n2" in page
    assert "queue: unschedulable" in page and "1 attempt" in page
    assert "would be requeued by:" in page and "Node Add" in page
    shown = record(fleet, "huge", "--all-filters")
    assert shown["why"] == shown["trial"]["message"] == first
    assert {f["plugin"]: f["code"] for f in shown["trial"]["groups"][0]["filters"]}["NodeUnschedulable"] == "Success"


def test_a_placed_pod_is_explained_by_its_row_and_a_trial_without_it(fleet):
    fleet.start("n1", "n2")
    fleet.apply(pod("web"))
    fleet.wait_running("web")
    shown = record(fleet, "web")
    assert shown["placed"] and shown["placement"]["phase"] == "bound"
    assert shown["placement"]["node"] == fleet.get("pod", "web")["spec"]["nodeName"]
    assert shown["trial"]["fits"] and len(shown["trial"]["scores"]["rows"]) == 2
    page = explain(fleet, "web")
    assert page.startswith(f"placed on node {shown['placement']['node']}, bound, epoch ")
    assert "if scheduled now, without counting itself: fits on node" in page and "TOTAL" in page


def test_explaining_an_unknown_pod_fails_with_its_name(fleet):
    fleet.start("n1")
    done = fleet.ctl("explain", "pod", "ghost", check=False)
    assert done.returncode == 1 and 'Pod "default/ghost" not found' in done.stderr


def test_plan_reports_by_its_exit_code_whether_pods_would_fit(fleet, tmp_path):
    fleet.start("n1", "n2")
    fits = plan(fleet, tmp_path, pod("small"))
    assert fits.returncode == 0 and fits.stdout.startswith("fits on node n"), fits.stderr
    nowhere = plan(fleet, tmp_path, pod("huge", memory="64Gi"))
    assert nowhere.returncode == 1
    assert nowhere.stdout.startswith("0/2 nodes are available: 2 Insufficient memory")
    assert "pod/default/huge: currently fits nowhere" in nowhere.stderr
    both = plan(fleet, tmp_path, claim("other"), pod("small"), pod("huge", memory="64Gi"), arguments=("-o", "json"))
    assert both.returncode == 1 and "not a pod; skipped" in both.stderr
    assert [item["trial"]["fits"] for item in json.loads(both.stdout)["items"]] == [True, False]
    refused = plan(fleet, tmp_path, pod("small", priorityClassName="none"))
    assert refused.returncode == 1 and 'no PriorityClass "none"; apply it first' in refused.stderr
    assert plan(fleet, tmp_path, claim("other")).returncode == 2


def test_a_pod_with_a_resource_claim_waits_for_it_and_never_runs(fleet, tmp_path):
    fleet.start("n1")
    gpu = pod("gpu", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])
    planned = plan(fleet, tmp_path, gpu)
    assert planned.returncode == 1 and "pod/default/gpu: would be gated by DynamicResources" in planned.stderr
    assert "there are no ResourceClaims in Berth" in planned.stderr
    fleet.apply(gpu)
    why = 'pod "default/gpu": ResourceClaim not created yet'
    fleet.wait_pending("gpu", why)
    assert why in fleet.ctl("describe", "pod", "gpu").stdout
    page = explain(fleet, "gpu")
    assert page.startswith(why) and "queue: gated by DynamicResources" in page


@pytest.mark.parametrize("more", [(), ("--all-filters",)])
def test_explain_and_plan_change_nothing(fleet, tmp_path, more):
    fleet.start_gateway()
    fleet.start_agent("n1", volumes=[f"data={tmp_path / 'data'}:1Gi"])
    fleet.wait_node("n1")
    fleet.apply(LOCAL_CLASS, claim("disk"), pod("web"), pod("huge", memory="64Gi"),
                pod("gated", schedulingGates=[{"name": "site-ready"}]))
    fleet.wait_running("web")
    fleet.wait_pending("huge", "0/1 nodes are available")
    before, counts = quiet(fleet), queue_counts(fleet)
    for name in ("web", "huge", "gated"):
        explain(fleet, name, *more)
    done = plan(fleet, tmp_path, with_claim(pod("writer"), "disk"), pod("new"), pod("big", memory="64Gi"), arguments=more)
    assert done.returncode == 1 and done.stdout.count("fits on node n1") == 2, done.stdout + done.stderr
    assert durable(fleet) == before
    assert queue_counts(fleet) == counts
    assert fleet.get("pod", "new") is None
    assert fleet.get("persistentvolumeclaim", "disk").get("status", {}).get("phase", "Pending") != "Bound"
