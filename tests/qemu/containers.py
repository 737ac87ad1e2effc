"""tests/qemu/containers.py ARCH: pods as containers of images, in the guest, by crun on unified control groups. Images come
from a registry on the host. The memory and the processor time of the agent and its keepers with 20 pods, a network, user,
objects, volumes and a probe of a pod, a limit of memory, commands and output, and what runs after a power cut without
broker or gateway. What harms others is in hostile.py. The last line of output is "N passed, N failed"."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from container_guest import PIDS, ended, gone, kib, logs, pod, run_cases, script, status, uptime  # noqa: E402
from first_pod import apply, memory_of, wait_running  # noqa: E402
from kernel import wait_until  # noqa: E402

PODS = 20
SETTLE_S = 15  # after the last start: the agent has given back what its own start needed, and the node has reported its images
IDLE_S = 60
AGENT_LIMITS = (10 * 1024, 3 * 1024)  # KiB with 20 pods: resident; of that Private_Dirty
KEEPER_LIMIT = 614                    # KiB of Private_Dirty: 0.6 MiB
IDLE_LIMIT = 0.1                      # percent of a core that takes 2 ns for an instruction (container_guest.CORE)
RUNS = "/state/edge-a/runs"           # where pods count their runs
OFFLINE_S = 15                        # from the agent's start to the last of the pods that ran before the cut; printed


def everything_of_a_pod(made):
    """Network, user, objects, volumes of every kind and a probe, in one pod."""
    guest, image = made.guest, made.image
    volumes = [{"name": "config", "configMap": {"name": "settings"}}, {"name": "scratch", "emptyDir": {}},
               {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
               {"name": "disk", "persistentVolumeClaim": {"claimName": "log"}},
               {"name": "about", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
               {"name": "access", "secret": {"secretName": "access", "defaultMode": 0o440}},
               {"name": "all", "projected": {"sources": [{"configMap": {"name": "settings"}}, {"secret": {"name": "access"}}]}},
               {"name": "host", "hostPath": {"path": "/state/edge-a/of-the-host", "type": "DirectoryOrCreate"}}]
    mounts = [*({"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes),
              {"name": "host", "mountPath": "/part", "subPath": "part"},
              {"name": "disk", "mountPath": "/read-only", "readOnly": True}]
    container = {
        "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "access", "key": "token"}}},
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "securityContext": {"runAsUser": 65534, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "resources": {"limits": {"memory": "32Mi", "cpu": "500m"}},
        "readinessProbe": {"exec": {"command": ["test", "-e", "/scratch/ready"]}, "periodSeconds": 1}, "volumeMounts": mounts}
    tell = ("echo $(id -u) $TOKEN $IP $(cat /config/level) $(cat /about/name); touch /x 2>/dev/null || echo read-only; "
            "echo $(cat /access/token) $(cat /all/token) $(cat /all/level) $(cat /host/note) $(cat /part/note); echo kept >/disk/note; "
            "touch /read-only/x 2>/dev/null || cat /read-only/note; touch /memory/m /scratch/ready; exec sleep 100000")
    guest.run("mkdir -p /state/edge-a/of-the-host/part; echo outside >/state/edge-a/of-the-host/note; "
              "echo below >/state/edge-a/of-the-host/part/note")
    apply(guest, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"level": "high"}},
          {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "access"}, "stringData": {"token": "t0ken"}},
          pod("sensor", image, script(tell), volumes=volumes, container=container, securityContext={"fsGroup": 65534}))
    wait_running(guest, ["sensor"], 300)
    wait_until(lambda: any(each["type"] == "Ready" and each["status"] == "True" for each in status(guest, "sensor")["conditions"]),
               "the sensor is ready")
    ip = status(guest, "sensor")["podIP"]
    expected = f"65534 t0ken {ip} high sensor\nread-only\nt0ken t0ken high outside below\nkept\n"
    assert logs(guest, "sensor") == expected, logs(guest, "sensor")
    assert guest.run("cat /state/edge-a/data/note") == ["kept"]
    assert any("1 received" in line or "1 packets received" in line for line in guest.run(f"ping -c 1 {ip}"))
    groups = guest.run("for f in $(find /sys/fs/cgroup/berth -name memory.max); do cat $f; done")
    assert str(32 << 20) in groups, f"limits of memory in the control groups: {groups}"
    return f"an image of the registry runs with a user, network ({ip}), ConfigMap, Secret, volumes of every kind, subPath, a read-only mount and a probe"


def out_of_memory(made):
    guest, image = made.guest, made.image
    apply(guest, pod("greedy", image, script("head -c 64m /dev/zero | tail"), restartPolicy="Never",
                     container={"resources": {"limits": {"memory": "16Mi"}}}))
    state = ended(guest, "greedy")
    assert state["reason"] == "OOMKilled", state
    return f"a container above its limit of memory ends as {state['reason']} with exit code {state['exitCode']}"


def process_in_a_sandbox(made):
    """A pod without an image: bubblewrap, and control groups of its own."""
    guest = made.guest
    tell = "id -u; echo $(cat /settings/level); ls /tmp | wc -l; exec sleep 100000"
    sandboxed = pod("process", "", script(tell), volumes=[{"name": "settings", "configMap": {"name": "settings"}}],
                    container={"securityContext": {"runAsUser": 65534}, "resources": {"limits": {"memory": "24Mi"}},
                               "volumeMounts": [{"name": "settings", "mountPath": "/settings"}]})
    greedy = pod("process-greedy", "", script("head -c 64m /dev/zero | tail"), restartPolicy="Never",
                 container={"resources": {"limits": {"memory": "16Mi"}}})
    for each in (sandboxed, greedy):
        del each["spec"]["containers"][0]["image"]
    guest.run("touch /tmp/of-the-device")
    apply(guest, sandboxed, greedy)
    wait_running(guest, ["process"])
    wait_until(lambda: logs(guest, "process") == "65534\nhigh\n0\n", "what it sees")
    limits = guest.run("for f in $(find /sys/fs/cgroup/berth -name memory.max); do cat $f; done")
    assert str(24 << 20) in limits, f"limits of memory in the control groups: {limits}"
    state = ended(guest, "process-greedy")
    assert state["reason"] == "OOMKilled", state
    shown = guest.ctl("exec", "process", "--", "id", "-u").stdout
    assert shown == "65534\n", shown
    gone(guest, "process", "process-greedy")
    return "a pod without an image has a user, a ConfigMap at its path, a /tmp of its own, and ends as OOMKilled above its limit"


def commands_and_output(made):
    guest = made.guest
    apply(guest, pod("shell", made.image, script("echo first; echo broken >&2; exec sleep 100000")))
    wait_running(guest, ["shell"])
    assert sorted(logs(guest, "shell").split()) == ["broken", "first"]
    shown = guest.ctl("exec", "shell", "-i", "--", "sh", "-c", "read line; echo $line from $(cat /proc/1/comm)", stdin="words\n")
    assert shown.stdout == "words from sleep\n", shown.stdout
    failed = guest.ctl("exec", "shell", "--", "sh", "-c", "exit 7", check=False)
    assert failed.returncode == 7, failed
    copied = made.folder / "copied"
    copied.write_text("to the pod and back", encoding="utf-8")
    guest.ctl("cp", str(copied), "shell:/tmp/copy")
    guest.ctl("cp", "shell:/tmp/copy", str(made.folder / "back"))
    assert (made.folder / "back").read_text(encoding="utf-8") == "to the pod and back"
    used = guest.ctl("top", "pod", "shell").stdout
    assert "shell" in used, used
    gone(guest, "shell")
    return "exec with its input and exit code, both streams of the output, a file into a container and back, top"


def failing_probe(made):
    probe = {"exec": {"command": ["test", "!", "-e", "/tmp/sick"]}, "periodSeconds": 1, "failureThreshold": 1}
    apply(made.guest, pod("moody", made.image, script("touch /tmp/sick; exec sleep 100000"), container={"livenessProbe": probe}))
    wait_until(lambda: status(made.guest, "moody").get("containerStatuses", [{}])[0].get("restartCount", 0) > 0, "a restart")
    gone(made.guest, "moody")
    return "a container whose liveness probe fails is started again"


def private_kib(guest, name):
    """Private_Dirty of each program of a name, by pid."""
    command = f"for p in $({PIDS.format(name=name)}); do awk -v p=$p '/^Private_Dirty:/ {{ print p, $2 }}' /proc/$p/smaps_rollup; done"
    return dict(tuple(map(int, line.split())) for line in guest.run(command))


def milliseconds(guest, pids):
    """Processor time of programs."""
    return sum(int(line.split()[0]) for line in guest.run(f"for p in {pids}; do cat /proc/$p/schedstat; done")) / 1e6


def budgets(made):
    guest = made.guest
    names = idle_pods()
    apply(guest, pod("first", made.image, ["true"], restartPolicy="Never"))  # which the image comes with
    ended(guest, "first")
    gone(guest, "first")
    began = uptime(guest)
    apply(guest, *[pod(name, made.image, ["sleep", "100000"]) for name in names])
    wait_running(guest, names, 600)
    took = uptime(guest) - began
    guest.run(f"sleep {SETTLE_S}", SETTLE_S * 4)
    resident, _, private = memory_of(guest)["edge-a"]
    keepers = private_kib(guest, "berth-keeper")
    assert resident <= AGENT_LIMITS[0] and private <= AGENT_LIMITS[1], f"agent {resident} KiB resident, {private} private"
    assert len(keepers) == PODS, f"keepers: {keepers}"
    most = max(keepers.values())
    assert most <= KEEPER_LIMIT, f"keepers: {keepers} KiB private"
    guest.run("sync")
    groups = ("$edge_a", " ".join(map(str, keepers)))
    before = [milliseconds(guest, pids) for pids in groups]
    written = bytes_written(guest, *groups)
    guest.run(f"sleep {IDLE_S}", IDLE_S * 4)
    agent, all_keepers = ((milliseconds(guest, pids) - at) / IDLE_S / 10 for pids, at in zip(groups, before))
    assert bytes_written(guest, *groups) == written, "something is written to the disk while nothing changes"
    assert agent <= IDLE_LIMIT, f"the agent takes {agent:.3f} % of a core with {PODS} idle pods"
    return (f"{PODS} pods start in {took:.1f} s: agent {resident} KiB resident, {private} private (limits {AGENT_LIMITS[0]} and {AGENT_LIMITS[1]}); keepers "
            f"at most {most} KiB private each (limit {KEEPER_LIMIT}), {kib(guest, 'Pss', groups[1])} KiB (Pss) together; idle, the agent takes {agent:.3f} % of a core "
            f"(limit {IDLE_LIMIT}), all keepers {all_keepers:.3f} %, and neither writes to the disk in {IDLE_S} s")


def bytes_written(guest, agent, keepers):
    """To the disk, by the agent and its keepers. The gateway may have to store what a device reports late, its images say."""
    return guest.run(f"for p in {agent} {keepers}; do grep ^write_bytes /proc/$p/io; done")


def idle_pods():
    return [f"idle-{number}" for number in range(PODS)]


def offline(made):
    """After the cut there is no broker, no gateway and no registry. Secrets are only in the device's memory, so that a pod
    which has one waits for the gateway. What fails is started again, and what is sick, too."""
    guest, names = made.guest, ["sensor", *idle_pods()]
    sick = {"exec": {"command": ["sh", "-c", "[ $(($(cut -d. -f1 /proc/uptime) - $(cat /tmp/since))) -lt 5 ]"]}, "periodSeconds": 1,
            "failureThreshold": 1}
    counted = {"volumes": [{"name": "runs", "hostPath": {"path": RUNS, "type": "DirectoryOrCreate"}}]}
    mounts = {"volumeMounts": [{"name": "runs", "mountPath": "/runs"}]}
    apply(guest, pod("failing", made.image, script("echo >>/runs/failing; sleep 2; exit 3"), container=mounts, **counted),
          pod("sick", made.image, script("cut -d. -f1 /proc/uptime >/tmp/since; echo >>/runs/sick; exec sleep 99999"),
              container={"livenessProbe": sick, **mounts}, **counted))
    for name in ("failing", "sick"):
        wait_until(lambda name=name: runs(guest, name) > 0, f"{name} has been started")
    made.registry.stop()
    guest.cut_power()
    made.boot("berth.offline=1")
    started = uptime(guest)
    idle = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^sleep 100000' && echo ${p#/proc/}; done"
    wait_until(lambda: len(guest.run(idle)) == PODS, "what ran before runs again", 600)
    took = uptime(guest) - started
    assert took <= OFFLINE_S, f"it took {took:.1f} s"
    pids = guest.run(idle)
    for name in ("failing", "sick"):
        before = runs(guest, name)
        wait_until(lambda name=name, before=before: runs(guest, name) > before, f"{name} is started again", 600)
    guest.run("start_center")
    wait_running(guest, names, 300)
    wait_until(lambda: len(guest.run(idle)) == len(names), "each runs once")
    assert set(pids) < set(guest.run(idle)), "what ran without the gateway was started again when it came"
    gone(guest, "failing", "sick")
    return (f"after a power cut, without broker, gateway and registry: {len(names) - 1} pods run {took:.1f} s after the agent's start (limit "
            f"{OFFLINE_S}), failing and sick ones are started again; none is once the gateway is there, and one with a Secret starts")


def runs(guest, name):
    """How often a pod has been started: each run adds a line."""
    return int(guest.run(f"cat {RUNS}/{name} 2>/dev/null | wc -l")[0])


if __name__ == "__main__":
    sys.exit(run_cases([budgets, everything_of_a_pod, out_of_memory, process_in_a_sandbox, commands_and_output, failing_probe, offline]))
