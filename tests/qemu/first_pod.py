"""tests/qemu/first_pod.py ARCH [--machine raspi3b] [--semi-static]: boots the guest, applies pods from the host over MQTT
and waits until they run in the guest; prints times and the memory use of the programs. --machine raspi3b: QEMU's Raspberry
Pi 3 with an SD card and USB networking. --semi-static: the programs of `cross/build ARCH --semi-static`, without TLS.
The last line of output is "N passed, N failed"."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from guest import ROOT, CardDisk, Guest, PlainDisk, make_disk  # noqa: E402

# Limits in KiB, as documented in the README: resident, private. The gateway has ten devices. Private is Private_Dirty in the
# kernel's smaps: pages that are neither shared nor backed by a file. File pages mapped by one program only are printed
# separately. Most of what is resident are file pages: the kernel maps 64 KiB around each that is touched, and takes them back.
LIMITS = {"gateway": (10 * 1024, 3 * 1024), "edge-a": (10 * 1024, 2 * 1024)}
SETTLE_S = 15  # by then the programs have given back what only their start needed (firmware-host/start_pages.h)
SEMI_STATIC_LIMITS = {**LIMITS, "gateway": (6656, 3 * 1024)}


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
    """KiB by program: (resident, private, of which dirty)."""
    return {line.split()[1]: tuple(map(int, line.split()[2:])) for line in guest.ask("memory") if line.startswith("memory")}


def machine_of(options, folder):
    image = Path(folder) / "state.img"
    if options.machine == "raspi3b":
        return Guest(options.arch, CardDisk(image, ROOT / "build" / f"guest-{options.arch}" / "root.img"), folder, "raspi3b")
    make_disk(image)
    return Guest(options.arch, PlainDisk(image), folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("arch", choices=["arm64", "armhf"])
    parser.add_argument("--machine", choices=["virt", "raspi3b"], default="virt")
    parser.add_argument("--semi-static", action="store_true")
    options = parser.parse_args()
    label = " ".join([options.arch, options.machine] + ["semi-static"] * options.semi_static)
    kernel_arguments = "berth.ten=1" + " berth.programs=/opt/plain" * options.semi_static
    limits = SEMI_STATIC_LIMITS if options.semi_static else LIMITS
    passed, failed = 0, 0

    def check(what, ok):
        nonlocal passed, failed
        passed, failed = passed + bool(ok), failed + (not ok)
        print(("ok     " if ok else "FAILED ") + what, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        guest = machine_of(options, folder)
        began = time.monotonic()
        try:
            guest.boot(kernel_arguments)
            guest.wait("@started")
            up = time.monotonic() - began
            apply(guest, *STORAGE, pod("sensor", "log"), pod("web"), pod("relay"))
            wait_running(guest, ["sensor"])
            first = time.monotonic() - began
            wait_running(guest, ["sensor", "web", "relay"])
            check(f"{label}: programs started {up:.1f} s after power-on; the first bound pod ran after {first:.1f} s", True)
            volumes = json.loads(guest.ctl("get", "pvc", "-o", "json").stdout)["items"]
            check(f"{label}: the claim of the sensor is bound", volumes[0]["status"].get("phase") == "Bound")
            guest.run(f"sleep {SETTLE_S}")
            for name, (resident, alone, private) in memory_of(guest).items():
                limit = limits.get(name, (1 << 30, 1 << 30))
                shown = f" (limits {limit[0]} and {limit[1]})" if name in limits else ""
                check(f"{label}: {name} {resident} KiB resident, {private} KiB private{shown}, {alone - private} KiB of files "
                      "mapped by no other process", resident <= limit[0] and private <= limit[1])
            guest.power_off()
            guest.boot(kernel_arguments)
            guest.wait("@started")
            wait_running(guest, ["sensor", "web", "relay"])
            check(f"{label}: all pods run again after a clean power-off", True)
            guest.power_off()
        except AssertionError as error:
            check(f"{label}: {error}", False)
            print((Path(folder) / "console.log").read_text(errors="replace")[-6000:])
        finally:
            guest.cut_power()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
