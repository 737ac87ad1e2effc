"""tests/qemu/first_pod.py ARCH: boots the guest, applies pods from the host through MQTT and waits until they run in the
guest; prints the times and the memory of the programs. Its last line is "N passed, N failed"."""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from guest import Guest, PlainDisk, make_disk  # noqa: E402

# KiB, as the README promises them: resident, written by the program (Anonymous). The gateway has ten devices.
LIMITS = {"gateway": (9 * 1024, 3 * 1024), "edge-a": (8 * 1024, 2 * 1024)}


def pod(name, claim=None):
    spec = {"containers": [{"name": "main", "command": ["sleep", "100000"],
                            "resources": {"requests": {"cpu": "100m", "memory": "8Mi"}}}]}
    if claim:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


STORAGE = [{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
           {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "log"},
            "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "16Mi"}}}}]


def apply(guest, *objects):
    guest.ctl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(each) for each in objects))


def phases(guest):
    shown = guest.ctl("get", "pods", "-o", "json", check=False)
    if shown.returncode:
        return {}
    return {item["metadata"]["name"]: item.get("status", {}).get("phase") for item in json.loads(shown.stdout)["items"]}


def wait_running(guest, names, timeout_s=120):
    end = time.monotonic() + timeout_s
    while True:
        seen = phases(guest)
        if all(seen.get(name) == "Running" for name in names):
            return
        assert time.monotonic() < end, f"not all running: {seen}"
        time.sleep(0.1)


def memory_of(guest):
    """KiB by program: (resident, private)."""
    return {line.split()[1]: tuple(map(int, line.split()[2:])) for line in guest.ask("memory") if line.startswith("memory")}


def main(arch):
    passed, failed = 0, 0

    def check(what, good):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        print(("ok     " if good else "FAILED ") + what, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        make_disk(Path(folder) / "state.img")
        guest = Guest(arch, PlainDisk(Path(folder) / "state.img"), folder)
        began = time.monotonic()
        try:
            guest.boot("berth.ten=1")
            guest.wait("@started")
            up = time.monotonic() - began
            apply(guest, *STORAGE, pod("sensor", "log"), pod("web"), pod("relay"))
            wait_running(guest, ["sensor"])
            first = time.monotonic() - began
            wait_running(guest, ["sensor", "web", "relay"])
            check(f"{arch}: programs started {up:.1f} s after power on; first bound pod ran after {first:.1f} s", True)
            volumes = json.loads(guest.ctl("get", "pvc", "-o", "json").stdout)["items"]
            check(f"{arch}: the claim of the sensor is bound", volumes[0]["status"].get("phase") == "Bound")
            for name, (resident, private) in memory_of(guest).items():
                limit = LIMITS.get(name, (1 << 30, 1 << 30))
                check(f"{arch}: {name} {resident} KiB resident, {private} KiB of its own",
                      resident <= limit[0] and private <= limit[1])
            guest.power_off()
            guest.boot("berth.ten=1")
            guest.wait("@started")
            wait_running(guest, ["sensor", "web", "relay"])
            check(f"{arch}: all pods run again after a clean power off", True)
            guest.power_off()
        except AssertionError as error:
            check(f"{arch}: {error}", False)
            print((Path(folder) / "console.log").read_text(errors="replace")[-6000:])
        finally:
            guest.cut_power()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
