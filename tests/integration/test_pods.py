"""Pods on real nodes: bound, run, rejected, moved and deleted."""

import signal
import socket

import pytest
from device import FakeDevice
from invariants import sleepers, wait_each_runs_once, wait_settled
from manifests import LOCAL_CLASS, claim, counted_pod, pod, starts, toleration, with_claim
from ports import free_port
from waiting import wait_until



def uid_of(fleet, name):
    return fleet.get("pod", name)["metadata"]["uid"]


def condition(status, kind):
    return next((each for each in status["conditions"] if each["type"] == kind), {})


def claim_of(fleet, name):
    return fleet.get("persistentvolumeclaim", name)


def test_pods_are_bound_and_run_on_real_nodes(fleet):
    fleet.start("n1", "n2")
    names = [f"web-{number}" for number in range(6)]
    fleet.apply(*(pod(name) for name in names))
    for name in names:
        fleet.wait_running(name)
        status = fleet.wait_phase(name, "Running")
        assert status["nodeName"] in ("n1", "n2")
    nodes = wait_each_runs_once(fleet, *names)
    assert set(nodes.values()) == {"n1", "n2"}


def test_a_pod_with_the_three_probes_becomes_ready_and_get_shows_it(fleet, tmp_path):
    fleet.start("n1")
    mark = tmp_path / "mark"
    web = pod("web", labels={"app": "web", "pod-template-hash": "5d4c8b7f9"}, restartPolicy="Always")
    web["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4c8b7f9", "uid": "r1", "controller": True}]
    with socket.create_server(("127.0.0.1", 0)) as server:
        web["spec"]["containers"][0].update(
            ports=[{"name": "http", "containerPort": server.getsockname()[1]}],
            startupProbe={"exec": {"command": ["true"]}, "periodSeconds": 1},
            readinessProbe={"exec": {"command": ["test", "-e", str(mark)]}, "periodSeconds": 1, "failureThreshold": 1},
            livenessProbe={"tcpSocket": {"port": "http"}, "periodSeconds": 1, "failureThreshold": 1})
        fleet.apply(web)
        status = fleet.wait_pod("web", lambda s: s.get("containerStatuses", [{}])[0].get("started"))
        assert condition(status, "Ready")["reason"] == "ContainersNotReady"
        assert condition(status, "Ready")["message"] == "containers with unready status: [main]"
        assert condition(status, "Initialized")["status"] == "True" == condition(status, "PodScheduled")["status"]
        assert "0/1" in fleet.ctl("get", "pod", "web").stdout
        mark.touch()
        status = fleet.wait_pod("web", lambda s: condition(s, "Ready").get("status") == "True")
        assert condition(status, "ContainersReady")["lastTransitionTime"].endswith("Z")
        header, row = (line.split() for line in fleet.ctl("get", "pod", "web").stdout.splitlines())
        assert dict(zip(header, row)) | {"READY": "1/1", "STATUS": "Running"} == dict(zip(header, row)), row
        assert "ContainersReady:" in fleet.ctl("describe", "pod", "web").stdout
        wait_each_runs_once(fleet, "web")
    fleet.wait_pod("web", lambda s: s["containerStatuses"][0]["restartCount"] > 0)  # nobody listens any more


def test_a_pod_that_serves_tls_with_a_certificate_of_its_own_is_probed(fleet, tmp_path):
    fleet.start("n1")
    port = free_port()
    script = ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=any -keyout key -out crt; "
              f"exec openssl s_server -accept 127.0.0.1:{port} -cert crt -key key -HTTP")
    web = pod("web", command=("sh", "-c", script))
    web["spec"]["containers"][0].update(
        workingDir=str(tmp_path),
        readinessProbe={"httpGet": {"port": port, "path": "/health", "scheme": "HTTPS"}, "periodSeconds": 1, "timeoutSeconds": 20})
    fleet.apply(web)
    (tmp_path / "health").write_text("HTTP/1.1 204 Well\r\n\r\n", encoding="utf-8")
    fleet.wait_pod("web", lambda s: condition(s, "Ready").get("status") == "True")
    (tmp_path / "health").write_text("HTTP/1.1 503 Ill\r\n\r\n", encoding="utf-8")
    wait_until(lambda: "statuscode: 503" in fleet.ctl("describe", "pod", "web").stdout, "the failed probe")


def test_a_pod_with_a_local_volume_runs_where_the_volume_is_and_writes_into_it(fleet, tmp_path):
    fleet.start_gateway()
    fleet.start_agent("n1", capacity={"cpu": "8", "memory": "4Gi", "pods": "100"})
    fleet.start_agent("n2", volumes=[f"data={tmp_path / 'data'}:1Gi"])
    fleet.wait_node("n1")
    fleet.wait_node("n2")
    script = "echo kept > $BERTH_VOLUME_DISK/file; exec sleep 1000"
    fleet.apply(LOCAL_CLASS, claim("disk"), with_claim(pod("writer", command=("sh", "-c", script)), "disk"))
    fleet.wait_running("writer", node="n2")
    wait_until(lambda: (tmp_path / "data" / "file").exists(), "the file in the volume")
    assert claim_of(fleet, "disk")["spec"]["volumeName"] == "n2-data"
    assert fleet.get("persistentvolume", "n2-data")["spec"]["claimRef"]["name"] == "disk"
    wait_each_runs_once(fleet, "writer")


def test_a_pod_is_placed_only_where_its_node_selector_matches(fleet):
    fleet.start_gateway()
    fleet.start_agent("n1", labels={"zone": "a"})
    fleet.start_agent("n2", labels={"zone": "b"})
    fleet.apply(*(pod(f"web-{number}", nodeSelector={"zone": "b"}) for number in range(3)))
    for number in range(3):
        fleet.wait_running(f"web-{number}", node="n2")


def test_only_a_tolerating_pod_is_placed_on_a_tainted_node(fleet):
    fleet.start_gateway()
    fleet.start_agent("n1", taints=["dedicated=camera:NoSchedule"])
    fleet.wait_node("n1")
    fleet.apply(pod("plain"), pod("camera", tolerations=[toleration("dedicated", "camera")]))
    fleet.wait_running("camera", node="n1")
    fleet.wait_pending("plain", "taint")
    wait_each_runs_once(fleet, "camera")


def test_a_pod_that_fits_nowhere_is_pending_with_the_reason(fleet):
    fleet.start("n1", "n2")
    fleet.apply(pod("huge", memory="64Gi"))
    status = fleet.wait_pending("huge", "memory")
    assert "0/2 nodes are available" in status["message"]
    described = fleet.ctl("describe", "pod", "huge").stdout
    assert "FailedScheduling" in described and "memory" in described


def test_a_pending_pod_runs_as_soon_as_a_node_that_fits_appears(fleet):
    fleet.start("n1")
    fleet.apply(pod("web", nodeSelector={"zone": "b"}))
    fleet.wait_pending("web", "0/1 nodes are available")
    fleet.start_agent("n2", labels={"zone": "b"})
    fleet.wait_running("web", node="n2")


def test_a_pod_rejected_by_its_node_is_placed_elsewhere_and_its_claim_is_not_pinned(fleet, tmp_path):
    fleet.start_gateway()
    fleet.observer  # pylint: disable=pointless-statement
    device = FakeDevice(fleet, fleet.port, "n1", {"PreBind": lambda r: {"type": "Rejected", "reason": "the disk is worn"}},
                        volumes=[{"name": "data", "path": "/nowhere", "capacity": "1Gi", "storageClass": "local"}])
    try:
        fleet.wait_node("n1")
        fleet.apply(LOCAL_CLASS, claim("disk"), with_claim(pod("web"), "disk"))
        fleet.wait_pending("web", "1 node(s) refused the pod: the disk is worn")
        assert "volumeName" not in claim_of(fleet, "disk")["spec"]
        assert "claimRef" not in fleet.get("persistentvolume", "n1-data")["spec"]
        first, second = device.wait_asked("PreBind", 2)  # tried again when the refusal has ended, under a new epoch
        assert first["epoch"] != second["epoch"] and first["uid"] == second["uid"]
        device.publish_state(taints=[{"key": "worn", "value": "", "effect": "NoSchedule"}])
        fleet.start_agent("n2", volumes=[f"data={tmp_path / 'data'}:1Gi"])
        fleet.wait_running("web", node="n2")
        assert claim_of(fleet, "disk")["spec"]["volumeName"] == "n2-data"
        assert "claimRef" not in fleet.get("persistentvolume", "n1-data")["spec"]
        wait_each_runs_once(fleet, "web")
    finally:
        device.close()


def test_a_pod_whose_volume_is_missing_on_the_node_that_it_prefers_runs_on_another(fleet, tmp_path):
    fleet.start_gateway()
    fleet.start_agent("n1", volumes=[f"data={tmp_path / 'missing'}:1Gi"], make_volumes=False)
    fleet.start_agent("n2", volumes=[f"data={tmp_path / 'data'}:1Gi"])
    fleet.wait_node("n1")
    fleet.wait_node("n2")
    prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
        "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}}]}}
    fleet.apply(LOCAL_CLASS, claim("disk"), with_claim(pod("web", affinity=prefers), "disk"))
    fleet.wait_running("web", node="n2")
    assert not (tmp_path / "missing").exists()
    assert claim_of(fleet, "disk")["spec"]["volumeName"] == "n2-data"
    assert "claimRef" not in fleet.get("persistentvolume", "n1-data")["spec"]


def test_a_pod_has_a_scratch_volume_of_its_own(fleet, tmp_path):
    fleet.start("n1", volumes=[f"data={tmp_path / 'data'}:1Gi"])
    template = {"spec": claim("any")["spec"]}
    script = "echo kept > $BERTH_VOLUME_SCRATCH/file; exec sleep 1000"
    web = pod("web", command=("sh", "-c", script))
    web["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    web["spec"]["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    fleet.apply(LOCAL_CLASS, web)
    fleet.wait_running("web", node="n1")
    wait_until((tmp_path / "data" / "file").exists, "the file in the volume")
    assert claim_of(fleet, "web-scratch")["spec"]["volumeName"] == "n1-data"
    fleet.delete("pod", "web")
    wait_until(lambda: claim_of(fleet, "web-scratch") is None, "the removal of the claim")
    assert fleet.get("persistentvolume", "n1-data")["status"]["phase"] == "Released"


def test_a_pod_whose_command_no_node_has_is_pending_with_the_nodes_reason(fleet):
    fleet.start("n1")
    fleet.apply(pod("web", command=("no-such-program",)))
    fleet.wait_pending("web", "1 node(s) refused the pod", "'no-such-program' not found")
    wait_until(lambda: not sleepers(fleet.name), "no process of a pod")


def test_a_deleted_pod_frees_its_node_for_another(fleet, tmp_path):
    fleet.start("n1", capacity={"cpu": "2", "memory": "512Mi", "pods": "1"})
    fleet.apply(counted_pod("first", tmp_path))
    fleet.wait_running("first")
    wait_until(lambda: starts("first", tmp_path) == 1, "the start of the first pod")
    fleet.apply(counted_pod("second", tmp_path))
    fleet.wait_pending("second", "0/1 nodes are available")
    fleet.delete("pod", "first")
    fleet.wait_running("second", node="n1")
    fleet.wait_gone("first")
    wait_each_runs_once(fleet, "second")
    wait_until(lambda: starts("second", tmp_path) == 1, "the start of the second pod")
    assert starts("first", tmp_path) == 1


def test_a_deleted_pod_leaves_its_volume_and_data_to_the_next_pod_of_the_claim(fleet, tmp_path):
    fleet.start("n1", "n2", volumes=[f"data={tmp_path / 'data'}:1Gi"])
    write = "echo kept > $BERTH_VOLUME_DISK/file; exec sleep 1000"
    fleet.apply(LOCAL_CLASS, claim("disk"), with_claim(pod("writer", command=("sh", "-c", write)), "disk"))
    node = fleet.wait_running("writer")
    wait_until((tmp_path / "data" / "file").exists, "the file in the volume")
    fleet.delete("pod", "writer")
    fleet.wait_gone("writer")
    read = f"cp $BERTH_VOLUME_DISK/file {tmp_path / 'copy'}; exec sleep 1000"
    fleet.apply(with_claim(pod("reader", command=("sh", "-c", read)), "disk"))
    assert fleet.wait_running("reader") == node
    wait_until(lambda: (tmp_path / "copy").exists() and (tmp_path / "copy").read_text() == "kept\n", "the copy")
    wait_each_runs_once(fleet, "reader")


def test_the_volume_of_a_deleted_claim_is_reused_only_after_the_operator_deletes_it(fleet, tmp_path):
    fleet.start("n1", volumes=[f"data={tmp_path / 'data'}:1Gi"])
    fleet.apply(LOCAL_CLASS, claim("old"), with_claim(pod("first"), "old"))
    fleet.wait_running("first")
    fleet.delete("persistentvolumeclaim", "old")
    assert claim_of(fleet, "old") is not None  # a pod uses it
    assert "Terminating" in fleet.ctl("get", "pvc", "old").stdout
    fleet.delete("pod", "first")
    wait_until(lambda: claim_of(fleet, "old") is None, "the removal of the claim")
    assert fleet.get("persistentvolume", "n1-data")["status"]["phase"] == "Released"
    fleet.apply(claim("new"), with_claim(pod("second"), "new"))
    fleet.wait_pending("second", "volume")
    fleet.delete("persistentvolume", "n1-data")  # the operator gives the data up; the device offers the volume again
    fleet.wait_running("second", node="n1")
    wait_each_runs_once(fleet, "second")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_silent_node_is_tainted_and_keeps_its_pods(fleet, tmp_path, number):
    settings = tmp_path / "agent.yaml"
    settings.write_text("heartbeat_seconds: 1\n", encoding="utf-8")
    fleet.start("n1", extra=["--config", settings])
    fleet.apply(counted_pod("web", tmp_path))
    fleet.wait_running("web")
    wait_each_runs_once(fleet, "web")
    fleet.kill("n1", number)
    fleet.wait_node("n1", ready=False)
    taints = fleet.get("node", "n1")["spec"]["taints"]
    assert [t["key"] for t in taints] == ["node.kubernetes.io/unreachable"]
    fleet.apply(counted_pod("late", tmp_path))
    fleet.wait_pending("late", "0/1 nodes are available", "taint")
    assert sleepers(fleet.name) == {uid_of(fleet, "web"): 1}
    if number == signal.SIGSTOP:
        fleet.kill("n1", signal.SIGCONT)
    else:
        fleet.restart("n1")
    fleet.wait_node("n1")
    fleet.wait_running("late", node="n1")
    wait_each_runs_once(fleet, "web", "late")
    assert starts("web", tmp_path) == 1


def test_a_finished_pod_keeps_its_status_and_frees_its_node(fleet):
    fleet.start("n1", capacity={"cpu": "2", "memory": "512Mi", "pods": "1"})
    fleet.apply(pod("job", command=("sh", "-c", "exit 3"), restartPolicy="Never"))
    status = fleet.wait_phase("job", "Failed")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    fleet.apply(pod("next"))
    fleet.wait_running("next", node="n1")
    wait_settled(fleet)
    assert fleet.get("pod", "job")["status"]["phase"] == "Failed"


def test_a_recreated_pod_starts_after_the_old_one_has_ended(fleet, tmp_path):
    fleet.start("n1", "n2")
    fleet.apply(counted_pod("web", tmp_path))
    fleet.wait_running("web")
    old = uid_of(fleet, "web")
    fleet.apply(counted_pod("web", tmp_path, cpu="200m"), arguments=["--recreate"])
    fleet.wait_pod("web", lambda s: s["uid"] != old and s["phase"] == "Running")
    wait_each_runs_once(fleet, "web")
    assert starts("web", tmp_path) == 2
