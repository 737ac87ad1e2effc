"""A minimal Debian of this machine's release in a folder, to test `apt install` of our packages on a fresh system.
Programs run in a chroot without systemd, in their own network namespace; test_systemd.py boots the system."""

import subprocess
from contextlib import contextmanager
from pathlib import Path

ARCHIVE = """apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
awk -v suite="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$1 == suite && $2 == "main" { print $1, $3; exit }'"""
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Debian:
    def __init__(self, root, include="ca-certificates"):
        self.root = Path(root)
        suite, mirror = run("sh", "-c", ARCHIVE).split()
        run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={include}", suite, self.root,
            f"deb [signed-by={KEYS}] {mirror} {suite} main", timeout=600)
        # Keeps installations from starting services: there is no init.
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n").chmod(0o755)
        self.run("apt-get", "-qq", "update", timeout=300)

    def path(self, name):
        return self.root / name.lstrip("/")

    def write(self, name, text):
        self.path(name).write_text(text, encoding="utf-8")
        return self.path(name)

    def run(self, *command, **options):
        return run("chroot", self.root, "env", "DEBIAN_FRONTEND=noninteractive", "HOME=/root",
                   "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *command, **options)

    def apt_install(self, *packages):
        """Installs package files; their dependencies come from the Debian archive."""
        self.path("/debs").mkdir(exist_ok=True)
        for package in packages:
            run("cp", package, self.path("/debs"))
        self.run("apt-get", "-qq", "install", "-y", "--no-install-recommends",
                 *(f"/debs/{Path(package).name}" for package in packages), timeout=600)

    @contextmanager
    def services(self, script):
        """Runs a shell script in the chroot, in its own network and pid namespaces; all its processes end with the block."""
        inside = f"ip link set lo up && mount -t proc proc {self.root}/proc && exec chroot {self.root} sh -c '{script}'"
        with subprocess.Popen(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as running:
            try:
                yield running
            finally:
                running.kill()
