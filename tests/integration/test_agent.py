"""berth-agent on a real broker, with hand-written requests: the device's side of the protocol (transports/README.md)."""

import json
import os
import platform
import shutil
import signal

import pytest
from fleet import Fleet
from invariants import keepers, workloads
from manifests import pod
from programs import Program, program_path
from waiting import wait_until

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}  # as Kubernetes names them
GATEWAY = {"gateway": "gw", "term": "1", "storeId": "s1", "floor": "0.0"}


def shell_pod(name, script, policy="Never", **metadata):
    manifest = pod(name)
    manifest["metadata"].update(namespace="default", **metadata)
    manifest["spec"].update(restartPolicy=policy, containers=[
        {"name": "main", "command": ["sh", "-c", script],
         "resources": {"requests": {"cpu": "100m", "memory": "16Mi"}}}])
    return manifest


class Gateway:
    """Sends requests as a gateway does, and reads the answers of one node."""

    def __init__(self, fleet, client, node="n1"):
        self.fleet, self.client, self.node = fleet, client, node
        client.subscribe(fleet.topic("#"))

    def incarnation(self):
        presence = self.fleet.topic(f"nodes/{self.node}/presence")
        return self.client.wait_latest(presence, lambda p: isinstance(p, dict) and p.get("online"))["incarnation"]

    def request(self, kind, uid, epoch, incarnation=None, **more):
        self.client.publish(self.fleet.topic(f"nodes/{self.node}/requests"),
                            {"type": kind, **GATEWAY, "incarnation": incarnation or self.incarnation(), "uid": uid,
                             "epoch": epoch, **more})

    def pre_bind(self, uid, epoch, manifest, volumes=()):
        manifest["metadata"]["uid"] = uid
        self.request("PreBind", uid, epoch, promiseMs="60000", volumes=list(volumes), pod=manifest)

    def wait_answer(self, kind, uid, epoch, count=1):
        return self.client.wait_message(self.fleet.topic(f"gateways/gw/answers/{self.node}"),
                                        lambda a: (a["type"], a.get("uid", uid), a["epoch"]) == (kind, uid, epoch), count)[-1]

    def wait_phase(self, name, phase):
        topic = self.fleet.topic(f"nodes/{self.node}/pods/default/{name}")
        return self.client.wait_latest(topic, lambda s: isinstance(s, dict) and s.get("phase") == phase)

    def run(self, uid, epoch, manifest, volumes=()):
        self.pre_bind(uid, epoch, manifest, volumes)
        self.wait_answer("PreBound", uid, epoch)
        self.request("Bind", uid, epoch)
        self.wait_answer("Bound", uid, epoch)


@pytest.fixture
def gateway(fleet, connect):
    return Gateway(fleet, connect(fleet.port, "gw"))


def test_an_agent_publishes_the_state_of_its_node(fleet, gateway):
    fleet.start_agent("n1", labels={"zone": "a"}, taints=["dedicated=cam:NoSchedule"], volumes=["data=/srv/data:1Gi"],
                      make_volumes=False)
    state = gateway.client.wait_latest(fleet.topic("nodes/n1/state"), lambda s: True)
    system = {"kubernetes.io/os": "linux", "kubernetes.io/arch": ARCHITECTURES.get(platform.machine(), platform.machine())}
    assert state["labels"] == {"zone": "a", **system}
    assert state["taints"] == [{"key": "dedicated", "value": "cam", "effect": "NoSchedule"}]
    assert state["allocatable"]["cpu"] == "2"
    assert state["volumes"] == [{"name": "data", "path": "/srv/data", "capacity": "1Gi", "storageClass": "local"}]
    gateway.client.wait_message(fleet.topic("nodes/n1/heartbeat"))


def test_a_pod_is_prepared_run_and_released(fleet, gateway, tmp_path):
    fleet.start_agent("n1")
    mark = tmp_path / "mark"
    gateway.pre_bind("u1", "1.1", shell_pod("web", f"echo $BERTH_POD_NAME > {mark}; exec sleep 1000"))
    gateway.wait_answer("PreBound", "u1", "1.1")
    assert not mark.exists()
    gateway.request("Bind", "u1", "1.1")
    gateway.wait_answer("Bound", "u1", "1.1")
    status = gateway.wait_phase("web", "Running")
    assert status["uid"] == "u1" and status["containerStatuses"][0]["state"]["running"]["startedAt"]
    wait_until(lambda: mark.exists() and mark.read_text() == "web\n", "the file written by the pod")
    gateway.request("Release", "u1", "1.1")
    gateway.wait_answer("Released", "u1", "1.1")
    assert tagged("u1") == []
    gateway.request("Bind", "u1", "1.1")
    gateway.wait_answer("Stale", "u1", "1.1")


def test_a_pod_that_cannot_run_is_rejected_with_its_reason(fleet, gateway):
    fleet.start_agent("n1")
    manifest = shell_pod("web", "true")
    manifest["spec"]["containers"][0]["command"] = ["no-such-command"]
    gateway.pre_bind("u1", "1.1", manifest)
    assert "command 'no-such-command' not found" in gateway.wait_answer("Rejected", "u1", "1.1")["reason"]


def test_a_pod_that_exits_reports_its_exit_code(fleet, gateway):
    fleet.start_agent("n1")
    gateway.run("u1", "1.1", shell_pod("job", "exit 7"))
    status = gateway.wait_phase("job", "Failed")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7


def test_a_status_left_by_an_agent_that_died_before_it_cleared_it_is_cleared_at_the_next_start(fleet, gateway, proxy):
    fleet.start_agent("n1", port=proxy.port)
    gateway.run("u1", "1.1", shell_pod("web", "exec sleep 1000"))
    gateway.wait_phase("web", "Running")
    topic = fleet.topic("nodes/n1/pods/default/web")
    clearing = proxy.drop(lambda packet: packet.kind == "PUBLISH" and packet.topic == topic and not packet.payload)
    gateway.request("Release", "u1", "1.1")
    gateway.wait_answer("Released", "u1", "1.1")
    clearing.wait()
    fleet.kill("n1")
    clearing.end()
    assert gateway.client.latest[topic]
    fleet.restart("n1")
    wait_until(lambda: not gateway.client.latest[topic], "the status without a slot to be cleared")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_pod_outlives_its_agent(fleet, gateway, tmp_path, number):
    fleet.start_agent("n1")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    gateway.run("u1", "1.1", shell_pod("web", f"read line < {fifo}; exit $line"))
    gateway.wait_phase("web", "Running")
    before = tagged("u1")
    fleet.kill("n1", number)
    if number == signal.SIGTERM:
        assert fleet.programs["n1"].process.returncode == 0
        assert "workloads keep running" in fleet.programs["n1"].output()
    gateway.client.wait_latest(fleet.topic("nodes/n1/presence"), lambda p: p["online"] is False)
    fleet.restart("n1")
    gateway.incarnation()
    assert tagged("u1") == before
    fifo.write_text("5\n")
    assert gateway.wait_phase("web", "Failed")["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5


def test_an_agent_without_its_store_stops_surviving_workloads_before_it_connects(fleet, gateway):
    fleet.start_agent("n1")
    gateway.run("u1", "1.1", shell_pod("web", "exec sleep 1000"))
    gateway.wait_phase("web", "Running")
    old = gateway.incarnation()
    fleet.kill("n1")
    for file in fleet.state_dir("n1").glob("agent.db*"):
        file.unlink()
    fleet.restart("n1")
    fresh = gateway.client.wait_latest(fleet.topic("nodes/n1/presence"), lambda p: p["incarnation"] != old)["incarnation"]
    assert tagged("u1") == []
    gateway.request("Bind", "u1", "1.1", incarnation=old)
    hello = gateway.wait_answer("Hello", "u1", "1.1")
    assert (hello["incarnation"], hello["toIncarnation"]) == (fresh, old)


def test_an_agent_connects_once_its_new_store_has_an_incarnation(fleet, gateway, tmp_path):
    fleet.start_agent("n1")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    gateway.run("u1", "1.1", shell_pod("web", f"trap 'read line < {fifo}; exit' TERM; while :; do sleep 0.1; done"))
    gateway.wait_phase("web", "Running")
    old = gateway.incarnation()
    fleet.kill("n1")
    for file in fleet.state_dir("n1").glob("agent.db*"):
        file.unlink()
    fleet.restart("n1")
    with open(fifo, "w", encoding="utf-8") as end:  # opened by the workload once it was told to stop
        presence = fleet.topic("nodes/n1/presence")
        assert json.loads(gateway.client.latest[presence])["incarnation"] == old
        end.write("end\n")
    fresh = gateway.client.wait_latest(presence, lambda p: p["online"] and p["incarnation"] != old)["incarnation"]
    fleet.kill("n1")
    gateway.client.wait_latest(presence, lambda p: p["online"] is False and p["incarnation"] == fresh)


def start_renamed(fleet, gateway, directory):
    """As n2, with this directory for its state."""
    argv = [directory if each == fleet.state_dir("n2") else each
            for each in fleet.agent_argv("n2", fleet.port, None, None, None, None, ())]
    fleet.start_("n2", argv)
    return gateway.client.wait_latest(fleet.topic("nodes/n2/presence"), lambda p: p["online"])["incarnation"]


def test_a_node_that_was_renamed_and_its_state_directory_moved_stops_what_it_ran(fleet, gateway, tmp_path):
    fleet.start_agent("n1")
    gateway.run("u1", "1.1", shell_pod("web", "exec sleep 1000"))
    gateway.wait_phase("web", "Running")
    old = gateway.incarnation()
    fleet.kill("n1")
    os.rename(fleet.state_dir("n1"), tmp_path / "moved")
    assert start_renamed(fleet, gateway, tmp_path / "moved") != old
    assert workloads(fleet.name) == [] and keepers(fleet.name) == {}
    assert "this store is another device's" in fleet.programs["n2"].output()


def test_a_renamed_node_on_a_copy_of_a_state_directory_tells_what_it_does_not_stop(fleet, gateway, tmp_path):
    fleet.start_agent("n1")
    gateway.run("u1", "1.1", shell_pod("web", "exec sleep 1000"))
    gateway.wait_phase("web", "Running")
    before = tagged("u1")
    shutil.copytree(fleet.state_dir("n1"), tmp_path / "copy")
    start_renamed(fleet, gateway, tmp_path / "copy")
    assert tagged("u1") == before, "they are n1's, which runs"
    (workload,) = workloads(fleet.name)
    log = fleet.programs["n2"].output()
    assert "not stopped, since it was started from another state directory" in log
    assert f"process {workload.pid} of {fleet.name}/n1/u1/1.1" in log


@pytest.mark.parametrize("lost_store", [False, True])
def test_a_renamed_node_stops_what_it_ran_under_its_old_name_before_it_connects(fleet, gateway, lost_store):
    fleet.start_agent("n1")
    gateway.run("u1", "1.1", shell_pod("web", "exec sleep 1000"))
    gateway.wait_phase("web", "Running")
    old = gateway.incarnation()
    fleet.kill("n1")
    if lost_store:
        for file in fleet.state_dir("n1").glob("agent.db*"):
            file.unlink()
    argv = [fleet.state_dir("n1") if each == fleet.state_dir("n2") else each
            for each in fleet.agent_argv("n2", fleet.port, None, None, None, None, ())]
    fleet.start_("n2", argv)
    fresh = gateway.client.wait_latest(fleet.topic("nodes/n2/presence"), lambda p: p["online"])["incarnation"]
    assert fresh != old
    assert workloads(fleet.name) == [] and keepers(fleet.name) == {}
    assert ("this store is another device's" in fleet.programs["n2"].output()) != lost_store
    renamed = Gateway(fleet, gateway.client, "n2")
    renamed.request("Bind", "u1", "1.1", incarnation=old)
    assert renamed.wait_answer("Hello", "u1", "1.1")["incarnation"] == fresh


def test_a_damaged_store_is_set_aside(fleet, gateway):
    fleet.start_agent("n1")
    old = gateway.incarnation()
    fleet.kill("n1")
    for file in fleet.state_dir("n1").glob("agent.db*"):
        file.write_bytes(b"nonsense" * 1000)
    fleet.restart("n1")
    gateway.client.wait_latest(fleet.topic("nodes/n1/presence"), lambda p: p["incarnation"] != old)
    assert "damaged store set aside" in fleet.programs["n1"].output()


def test_a_second_agent_on_one_state_directory_is_refused(fleet, gateway, tmp_path):
    fleet.start_agent("n1")
    gateway.incarnation()
    second = Program("second", fleet.agent_argv("n1", fleet.port, None, None, None, None, ()), tmp_path).start()
    assert second.wait() == 75
    assert "in use by another process" in second.output()
    assert fleet.programs["n1"].alive()


def test_a_flood_of_requests_of_a_gateway_that_it_is_not_enrolled_for_does_not_fill_the_log(fleet, gateway):
    agent = fleet.start_agent("n1")
    incarnation = gateway.incarnation()
    for number in range(200):
        gateway.request("Bind", "u1", f"1.{number + 1}", incarnation, gateway="other")
    gateway.pre_bind("u2", "1.1", shell_pod("web", "exit 0"))
    gateway.wait_answer("PreBound", "u2", "1.1")
    lines = [line for line in agent.output().splitlines() if "requests of another gateway are dropped" in line]
    assert len([line for line in lines if "from=other" in line]) == 30
    assert any("further records are left out" in line for line in lines)


def test_a_volume_keeps_what_a_pod_wrote(fleet, gateway, tmp_path):
    offered = tmp_path / "offered"
    fleet.start_agent("n1", volumes=[f"data={offered}:1Gi"])
    manifest = with_data(shell_pod("web", "echo kept > $BERTH_VOLUME_DATA/file"))
    gateway.run("u1", "1.1", manifest, [{"claim": "default/c", "volume": "data", "path": str(offered)}])
    gateway.wait_phase("web", "Succeeded")
    gateway.request("Release", "u1", "1.1")
    gateway.wait_answer("Released", "u1", "1.1")
    assert (offered / "file").read_text() == "kept\n"


def with_data(manifest):
    manifest["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    manifest["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return manifest


def test_a_volume_without_its_directory_is_refused_and_none_is_made(fleet, gateway, tmp_path):
    missing = tmp_path / "missing"
    fleet.start_agent("n1", volumes=[f"data={missing}:1Gi"], make_volumes=False)
    volumes = [{"claim": "default/c", "volume": "n1-data", "path": str(missing)}]
    gateway.pre_bind("u1", "1.1", with_data(shell_pod("web", "exit 0")), volumes)
    reason = gateway.wait_answer("Rejected", "u1", "1.1")["reason"]
    assert f"volume n1-data: directory {missing} does not exist on node n1: create it" in reason
    assert not missing.exists()
    missing.mkdir()
    gateway.run("u1", "1.2", with_data(shell_pod("web", "exit 0")), volumes)
    gateway.wait_phase("web", "Succeeded")


def test_a_volume_whose_disk_is_not_mounted_is_refused(fleet, gateway, tmp_path):
    (tmp_path / "disk").mkdir()
    config = tmp_path / "agent.yaml"
    config.write_text(f"volumes: [{{name: data, path: {tmp_path}/disk, capacity: 1Gi, mount_point: true}}]\n", "utf-8")
    fleet.start_agent("n1", extra=("--config", config))
    volumes = [{"claim": "default/c", "volume": "n1-data", "path": f"{tmp_path}/disk"}]
    gateway.pre_bind("u1", "1.1", with_data(shell_pod("web", "exit 0")), volumes)
    reason = gateway.wait_answer("Rejected", "u1", "1.1")["reason"]
    assert f"nothing is mounted at {tmp_path}/disk on node n1" in reason


def test_a_container_that_crashed_with_its_disk_waits_until_it_is_mounted(fleet, gateway, tmp_path, disk):
    config = tmp_path / "agent.yaml"
    config.write_text(f"volumes: [{{name: data, path: {disk.folder}, capacity: 1Gi, mount_point: true}}]\n", "utf-8")
    fleet.start_agent("n1", extra=("--config", config))
    runs, fifo = disk.folder / "runs", tmp_path / "fifo"
    os.mkfifo(fifo)
    script = f"echo run >> $BERTH_VOLUME_DATA/runs; read line < {fifo}; exit 3"
    gateway.run("u1", "1.1", with_data(shell_pod("web", script, "Always")),
                [{"claim": "default/c", "volume": "n1-data", "path": str(disk.folder)}])
    wait_until(runs.exists, "the first run")
    disk.unmount()
    fifo.write_text("end\n", "utf-8")
    status = gateway.client.wait_latest(fleet.topic("nodes/n1/pods/default/web"),
                                        lambda s: isinstance(s, dict) and s.get("reason") == "StartDelayed")
    assert f"nothing is mounted at {disk.folder} on node n1" in status["message"]
    assert status["phase"] == "Pending" and status["containerStatuses"][0]["restartCount"] == 1
    assert not runs.exists(), "nothing was written below the mount point"
    disk.mount()
    wait_until(lambda: runs.read_text("utf-8") == "run\nrun\n", "the second run, on the disk")
    assert "reason" not in gateway.wait_phase("web", "Running")


def test_a_malformed_option_is_reported_with_the_expected_form(tmp_path):
    program = Program("agent", [program_path("berth-agent"), "--label", "zone"], tmp_path).start()
    assert program.wait() == 64
    assert "label 'zone': expected key=value" in program.output()


def tagged(uid):
    """Pids of running processes that have the pod's tag in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if any(each.startswith(b"BERTH_TAG=test/n1/" + uid.encode() + b"/") for each in variables):
            found.append(int(entry))
    return sorted(found)


def test_an_agent_connects_with_a_certificate(tmp_path, tls_broker, authority, connect):
    fleet = Fleet(tmp_path, tls_broker.port)
    certificate, key = authority.issue("n1")
    argv = fleet.agent_argv("n1", fleet.port, None, None, None, None,
                            ("--ca-file", authority.ca, "--cert-file", certificate, "--key-file", key))
    agent = Program("n1", argv, tmp_path).start()
    client = connect(fleet.port, "gw", certificate=authority.issue("gw"), authority=authority)
    client.subscribe(fleet.topic("#"))
    assert client.wait_latest(fleet.topic("nodes/n1/presence"), lambda p: p["online"])
    agent.kill(signal.SIGTERM)
    assert agent.wait() == 0
    client.wait_latest(fleet.topic("nodes/n1/presence"), lambda p: not p["online"])
