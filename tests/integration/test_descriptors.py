"""An agent that cannot look into /proc, or has no descriptors left: what it cannot see is not gone."""

import subprocess

from invariants import keepers, wait_each_runs_once
from manifests import counted_pod, starts
from waiting import wait_until

# Preloaded library: while the file named by BERTH_BLIND exists, files of processes cannot be opened.
BLIND = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int open(const char *path, int flags, ...) {
  const char *flag = getenv("BERTH_BLIND");
  if (flag && strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9' && access(flag, F_OK) == 0) {
    errno = ENFILE;
    return -1;
  }
  va_list more;
  va_start(more, flags);
  int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;
  va_end(more);
  int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  return real(path, flags, mode);
}
"""


def assert_one_keeper(fleet, pid):
    assert list(keepers(fleet.name).values()) == [[pid]]


def slot_states(fleet, node):
    with fleet.store(node) as store:
        return [slot.value["state"] for slot in store.records("slot").values()]


def running_pod(fleet, folder):
    """Starts a fleet with one counted pod; returns the pid of its keeper."""
    fleet.start("n1")
    fleet.apply(counted_pod("web", folder))
    wait_each_runs_once(fleet, "web")
    ((pid,),) = keepers(fleet.name).values()
    return pid


def test_with_any_number_of_descriptors_no_second_keeper_of_an_epoch_is_started_and_the_pod_stays_running(fleet, tmp_path):
    pid = running_pod(fleet, tmp_path)
    agent = fleet.programs["n1"]
    argv = list(agent.argv)
    exhausted = 0
    for limit in range(3, 30):
        agent.kill()
        agent.argv = ["prlimit", f"--nofile={limit}:4096", *argv]
        logged = len(agent.output())
        agent.start()
        wait_until(lambda: not agent.alive() or "agent started" in agent.output()[logged:], f"an agent with {limit} descriptors")
        said = agent.output()[logged:]
        exhausted += "Too many open files" in said
        if not agent.alive():
            assert agent.process.returncode in (71, 127), said
        assert_one_keeper(fleet, pid)
        assert slot_states(fleet, "n1") == ["running"]
    assert exhausted > 3, "no limit was too small"
    agent.kill()
    agent.argv = argv
    agent.start()
    wait_each_runs_once(fleet, "web")
    assert_one_keeper(fleet, pid)
    assert starts("web", tmp_path) == 1


def test_an_agent_that_cannot_look_into_processes_starts_no_second_keeper_and_goes_on_once_it_can(fleet, tmp_path):
    (tmp_path / "blind.c").write_text(BLIND, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "blind.so", tmp_path / "blind.c", "-ldl"], check=True)
    pid = running_pod(fleet, tmp_path)
    flag = tmp_path / "is-blind"
    flag.touch()
    agent = fleet.programs["n1"]
    agent.kill()
    agent.env = {"LD_PRELOAD": str(tmp_path / "blind.so"), "BERTH_BLIND": str(flag)}
    agent.start()
    assert agent.wait() == 71
    assert "cannot tell what runs here" in agent.output() and "Too many open files in system" in agent.output()
    assert_one_keeper(fleet, pid)
    assert slot_states(fleet, "n1") == ["running"]
    flag.unlink()
    agent.start()
    wait_each_runs_once(fleet, "web")
    assert_one_keeper(fleet, pid)
    assert starts("web", tmp_path) == 1
