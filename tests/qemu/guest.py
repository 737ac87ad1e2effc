"""An ARM machine in QEMU: Debian's kernel, our packages, one disk. Built by cross/guest, controlled through its console."""

import os
import queue
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 120

ON_STDIO = ["-nographic"]
# Linux assigns the Pi's first serial port to Bluetooth, so the console is the second.
SECOND_ON_STDIO = ["-display", "none", "-monitor", "none", "-serial", "null", "-serial", "stdio"]
# By architecture and machine: QEMU program, console device, QEMU options.
MACHINES = {
    ("arm64", "virt"): ("qemu-system-aarch64", "ttyAMA0",
                        ["-M", "virt", "-cpu", "cortex-a53", "-m", "512", "-nic", "none", *ON_STDIO]),
    ("armhf", "virt"): ("qemu-system-arm", "ttyAMA0",
                        ["-M", "virt", "-cpu", "cortex-a15", "-m", "512", "-nic", "none", *ON_STDIO]),
    ("arm64", "raspi3b"): ("qemu-system-aarch64", "ttyS1,115200",
                           ["-M", "raspi3b", "-smp", "4", "-m", "1024", "-dtb", "{made}/bcm2837-rpi-3-b.dtb", *SECOND_ON_STDIO]),
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_disk(path, mebibytes=64):
    """A disk for the state, with project quotas."""
    path.unlink(missing_ok=True)
    with open(path, "wb") as file:
        file.truncate(mebibytes << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "quota,project", "-E", "quotatype=prjquota", path], check=True)


class VolatileDisk:
    """A disk that loses its write cache on a power cut: nbdkit keeps unflushed data in memory. lies=True: a disk that
    acknowledges flushes without doing them. Killing QEMU alone would prove nothing: the host's page cache survives it."""

    def __init__(self, image, folder, lies=False):
        self.image, self.socket, self.lies = image, Path(folder) / "disk.sock", lies
        self.process = None

    def start(self):
        self.socket.unlink(missing_ok=True)
        mode = "unsafe" if self.lies else "writeback"
        self.process = subprocess.Popen(["nbdkit", "-f", "-U", self.socket, "--filter=cache", "file", self.image,
                                         f"cache={mode}"])
        end = time.monotonic() + DEADLINE_S
        while not self.socket.exists():
            assert self.process.poll() is None and time.monotonic() < end, "nbdkit does not start"
            time.sleep(0.01)

    def drive(self):
        return f"format=raw,file=nbd:unix:{self.socket},cache=writeback"

    def cut(self):
        self.process.kill()
        self.process.wait()


class PlainDisk:
    def __init__(self, image):
        self.image = image

    def start(self):
        pass

    def drive(self):
        return f"format=raw,file={self.image},cache=none"

    def cut(self):
        pass


class CardDisk(PlainDisk):
    """An SD card, the only disk of a Raspberry Pi: a partition with the programs, then one for the state."""

    def __init__(self, image, root):
        super().__init__(image)
        start, state = 1 << 20, 384 << 20
        assert root.stat().st_size <= state - start, f"{root} does not fit"
        image.unlink(missing_ok=True)
        make_disk(image.with_suffix(".state"))
        table = b"".join(struct.pack("<BBHBBHII", 0, 0, 0, 0x83, 0, 0, at // 512, size // 512)
                         for at, size in ((start, state - start), (state, 64 << 20)))
        with open(image, "wb") as card:
            card.truncate(512 << 20)  # QEMU requires a power of two
            card.seek(446)
            card.write(table.ljust(64, b"\0") + b"\x55\xaa")
        for part, at in ((root, start), (image.with_suffix(".state"), state)):
            subprocess.run(["dd", f"if={part}", f"of={image}", "bs=1M", f"seek={at >> 20}", "conv=notrunc,sparse", "status=none"],
                           check=True)


class Guest:
    """A guest that is booted repeatedly from one disk. Its messages to the tests begin with "@"; the rest is in console.log."""

    def __init__(self, arch, disk, folder, machine="virt"):
        self.arch, self.disk, self.folder, self.machine = arch, disk, Path(folder), machine
        self.made = ROOT / "build" / f"guest-{arch}"
        self.process = None
        self.lines = queue.Queue()
        self.port = None

    def boot(self, kernel_arguments="", more=()):
        """kernel_arguments: added to the kernel command line. more: QEMU options."""
        self.disk.start()
        self.port = free_port()
        self.lines = queue.Queue()
        program, console, machine = MACHINES[self.arch, self.machine]
        command = [program, *[option.format(made=self.made) for option in machine], "-no-reboot", "-kernel",
                   self.made / "vmlinuz", "-initrd", self.made / "initrd.gz", "-append",
                   f"console={console} panic=-1 quiet {kernel_arguments}", "-netdev",
                   f"user,id=n0,hostfwd=tcp:127.0.0.1:{self.port}-:1884", *self.devices_(), *more]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        threading.Thread(target=self.read_, args=(self.process.stdout, self.lines), daemon=True).start()
        return self

    def devices_(self):
        if self.machine == "raspi3b":
            return ["-drive", f"if=sd,{self.disk.drive()}", "-usb", "-device", "usb-net,netdev=n0"]
        return ["-drive", f"if=none,id=d0,{self.disk.drive()}", "-device", "virtio-blk-device,drive=d0", "-drive",
                f"if=none,id=d1,format=raw,readonly=on,file={self.made}/root.img", "-device", "virtio-blk-device,drive=d1",
                "-device", "virtio-net-device,netdev=n0"]

    def read_(self, stream, lines):
        with open(self.folder / "console.log", "ab") as log:
            for raw in stream:
                log.write(raw)
                log.flush()
                if raw.endswith(b"\n"):  # ignore an incomplete last line
                    lines.put(raw.decode(errors="replace").strip())
        lines.put(None)

    def wait(self, beginning, timeout_s=DEADLINE_S):
        """Skips lines up to one that begins with `beginning`; returns the rest of that line."""
        end = time.monotonic() + timeout_s
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {beginning!r} from the guest within {timeout_s} s; see {self.folder}") from None
            assert line is not None, f"the guest stopped before it printed {beginning!r}; see {self.folder}/console.log"
            assert not line.startswith("@fail"), f"the guest reported a failure: {line}"
            if line.startswith(beginning):
                return line[len(beginning):].strip()

    def ask(self, text, silence_s=DEADLINE_S):
        """Sends one line to the guest's init; returns the lines up to its "@ok". Each line must arrive within silence_s."""
        self.process.stdin.write((text + "\n").encode())
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.wait("@", silence_s)
            if line.startswith("ok "):
                return lines
            lines.append(line)

    def run(self, command, silence_s=DEADLINE_S):
        """Runs a shell command in the guest; returns the lines of its output."""
        return [line.removeprefix("run").strip() for line in self.ask("run " + command, silence_s) if line.startswith("run")]

    def cut_power(self):
        """Kills QEMU and drops the disk's write cache."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.disk.cut()
            self.process.wait()

    def power_off(self):
        self.process.stdin.write(b"poweroff\n")
        self.process.stdin.flush()
        try:
            self.process.wait(DEADLINE_S)
        finally:
            self.disk.cut()

    def ctl(self, *arguments, stdin=None, check=True, timeout_s=DEADLINE_S):
        """Runs the host's berthctl as the operator, through the guest's forwarded port."""
        operator = self.made / "operator"
        command = [os.environ.get("BERTHCTL") or ROOT / "build" / "release" / "bin" / "berthctl", "--broker",
                   f"127.0.0.1:{self.port}", "--username", "operator", "--password-file", operator / "password",
                   "--timeout", str(timeout_s), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"berthctl {' '.join(map(str, arguments))}: {done.stderr}"
        return done
