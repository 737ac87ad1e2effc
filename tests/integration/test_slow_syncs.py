"""A disk whose syncs take 5 s, like an SD card during garbage collection: the gateway blocks but stays connected."""

import subprocess

from manifests import counted_pod, pod, starts
from test_status_pages import metric
from waiting import wait_until

# Preloaded library: while the file named by BERTH_SLOW_SYNC exists, each sync takes 5 s and appends a byte to it.
SLOW_SYNC = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int sync_slowly(const char *name, int fd) {
  const char *flag = getenv("BERTH_SLOW_SYNC");
  int counter = flag ? open(flag, O_WRONLY | O_APPEND) : -1;
  if (counter >= 0) {
    if (write(counter, "s", 1) != 1) abort();
    close(counter);
    sleep(5);
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(fd);
}
int fdatasync(int fd) { return sync_slowly("fdatasync", fd); }
int fsync(int fd) { return sync_slowly("fsync", fd); }
"""


def incompressible(size, seed):
    """Hexadecimal text of at least `size` characters that compresses poorly."""
    state, digits = seed * 2654435761 + 1, []
    while len(digits) * 16 < size:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        digits.append(f"{state:016x}")
    return "".join(digits)


def test_with_syncs_of_five_seconds_the_gateway_keeps_its_session_and_binds_the_pod(fleet, tmp_path, monkeypatch):
    source, library, slow_syncs = tmp_path / "slow_sync.c", tmp_path / "slow_sync.so", tmp_path / "syncs-are-slow"
    source.write_text(SLOW_SYNC, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    with monkeypatch.context() as patched:
        patched.setenv("LD_PRELOAD", str(library))
        patched.setenv("BERTH_SLOW_SYNC", str(slow_syncs))
        fleet.start_gateway()
    fleet.start_agent("n1")
    fleet.wait_node("n1")
    presence = fleet.topic(f"gateways/{fleet.gateway_name}/presence/")
    wait_until(lambda: any(message[0].startswith(presence) and b"serving" in message[1] for message in fleet.observer.messages),
               "the gateway to serve")
    seen = len(fleet.observer.messages)
    slow_syncs.touch()
    # Enough data to make the store checkpoint its log during a commit: three syncs in a row.
    for number in range(40):
        heavy = pod(f"heavy-{number}", nodeSelector={"nowhere": "yes"})
        heavy["metadata"]["annotations"] = {"ballast": incompressible(50_000, number)}
        fleet.observer.publish(fleet.topic(f"desired/pods/default/heavy-{number}"), heavy, retain=True)
    fleet.observer.publish(fleet.topic("desired/pods/default/web"), counted_pod("web", tmp_path), retain=True)
    fleet.wait_running("web", node="n1", timeout_s=240)
    fleet.wait_pod("web", lambda status: status["phase"] == "Running", timeout_s=240)
    assert slow_syncs.stat().st_size >= 5, "expected three syncs of the checkpoint, and those of the pod's row, bind and bound"
    slow_syncs.unlink()
    wait_until(lambda: metric(fleet, "berth_broker_connections_total") is not None, "the metrics page", 60)
    assert metric(fleet, "berth_broker_connections_total") == 1
    changes = [message for message in fleet.observer.messages[seen:] if message[0].startswith(presence)]
    assert changes == [], "the gateway's will was published, or it connected again"
    assert starts("web", tmp_path) == 1
