"""Starts, kills and awaits the real programs under test, and leaves no process behind."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

from waiting import patience, wait_until

ROOT = Path(__file__).resolve().parents[2]
PR_SET_CHILD_SUBREAPER = 36


def build_folder():
    """$BERTH_BUILD, or build/dev of this checkout."""
    return Path(os.environ.get("BERTH_BUILD") or ROOT / "build" / "dev")


def program_path(name, build=None):
    """build: a folder of cmake; that of this checkout by default."""
    path = (build or build_folder()) / "bin" / name
    if not path.exists():
        raise AssertionError(f"{path} is missing; build it: cmake --preset dev && cmake --build build/dev")
    return path


class Program:
    """One process. Its output is appended to a log file, which is shown when the test fails."""

    def __init__(self, name, argv, folder, env=None):
        self.name, self.argv, self.env = name, [str(a) for a in argv], env
        self.log = Path(folder) / f"{name}.log"
        self.process = None

    @property
    def pid(self):
        return self.process.pid if self.process else None

    def start(self):
        assert not self.alive(), f"{self.name} is already running"
        with open(self.log, "ab") as out:
            # In its own session, so that signals to the test runner do not reach it, and vice versa.
            self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            start_new_session=True, env={**os.environ, **(self.env or {})})
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self, number=signal.SIGKILL):
        """Sends a signal; after SIGKILL or SIGTERM waits for the process to exit."""
        if self.alive():
            self.process.send_signal(number)
            if number in (signal.SIGKILL, signal.SIGTERM):
                self.wait()

    def wait(self, timeout_s=None):
        """Waits for the process to exit; returns its exit code, or -N when signal N killed it."""
        limit = patience(timeout_s)
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not exit within {limit:.0f} s") from None

    def stop(self):
        """Terminates the process in whatever state it is (stopped, hanging); for the end of a test."""
        if self.alive():
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def wait_output(self, text, timeout_s=None):
        """Waits until the log contains the text. Fails at once if the program exits first."""

        def logged():
            if text in self.output():
                return True
            if not self.alive():
                code = self.process.returncode
                raise RuntimeError(f"{self.name} exited ({code}) before it logged {text!r}:\n{self.output()[-3000:]}")
            return False

        wait_until(logged, f"{text!r} in the log of {self.name}", timeout_s)


def adopt_orphans():
    """Makes this process the reaper of its orphaned descendants (PR_SET_CHILD_SUBREAPER), so that none is left behind.
    Workloads outlive their agent by design; this is how the tests find them again."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Pids of this process's children, including zombies."""
    found = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        try:
            found.update(int(pid) for pid in (task / "children").read_text().split())
        except OSError:
            pass
    if found:
        return found
    for entry in Path("/proc").iterdir():  # kernels without /proc/<pid>/task/<tid>/children
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid():
                found.add(int(entry.name))
    return found


def end_children_since(before):
    """Kills and reaps every child that is not in `before`, and the orphans that these leave in turn; returns the number. All
    are killed before one is waited for: the first process of a namespace ends only once all others of it are reaped, and
    some of them may be here."""
    ended = 0
    while new := children() - before:
        for pid in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in new:
            try:
                ended += os.waitpid(pid, os.WNOHANG)[0] == pid
            except ChildProcessError:
                before = before | {pid}
        time.sleep(0.001)
    return ended
