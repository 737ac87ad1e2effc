"""The packages on a complete Debian with systemd, in QEMU, whose mosquitto serves somebody else: installed on the running
system, the services start without configuration, obey their units' limits, restart when killed, and a pod runs until the
agent's package is removed. The other mosquitto is left alone. Each step that the guest reports is a test."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from debian import Debian
from test_packages import PACKAGES, deb

FREE_MIB = 900  # free space on the disk, beyond the installed system
BOOT_S = 900
STEPS = ["conflict-fails", "installed", "gateway-ready", "watchdog-set", "security", "comes-back", "enrolled", "agent-ready",
         "pod-runs", "pod-outlives-agent", "pod-outlives-upgrade", "signs", "others-untouched", "second-boot", "joins", "leaves",
         "removal-stops-pods", "goes-on-when-reinstalled"]
OTHERS = "listener 1883 127.0.0.1\nlistener 8883\nallow_anonymous true\n"

# Started by systemd at every boot. Prints "@ok STEP" or "@failed STEP" on the console, with the output of the step.
TRY = r"""#!/bin/bash
exec >/dev/console 2>&1
export DEBIAN_FRONTEND=noninteractive HOME=/root
ctl() { berthctl --config /etc/berth/operator/berthctl.yaml "$@"; }
step() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then echo "@ok $name $(tail -n 1 <<<"$output" | tr -d '\r')"; else echo "$output"; echo "@failed $name"; fi
}
within() {  # SECONDS COMMAND...: repeats the command until it succeeds
  local end=$((SECONDS + $1)) output
  shift
  until output=$("$@" 2>&1); do
    [ $SECONDS -lt $end ] || { echo "$output"; systemctl status --no-pager berth-gateway berth-agent berth-mosquitto mosquitto; return 1; }
    sleep 0.5
  done
  echo "$output"
}
ready() { systemctl is-active --quiet "berth-$1" && ctl status | grep -q "ready  *yes"; }
property() { systemctl show --value -p "$2" "berth-$1"; }
conflict_fails() {  # somebody listens at the port of Berth's broker
  local other output
  mosquitto -p 1893 & other=$!
  until (: </dev/tcp/127.0.0.1/1893) 2>/dev/null; do sleep 0.2; done
  output=$(apt-get -qq install -y --no-install-recommends /debs/*.deb 2>&1) && { echo "$output"; return 1; }
  kill "$other" && wait "$other"
  grep "Address already in use" <<<"$output" && grep "its broker does not start" <<<"$output"
}
installed() { dpkg --configure -a && dpkg-query -W 'berth-*'; }
mosquitto_now() { systemctl show -p MainPID -p ActiveEnterTimestamp -p NRestarts mosquitto; ls /etc/mosquitto/conf.d; }
others_untouched() { mosquitto_now | diff /mosquitto-before - && echo "same process and files"; }
watchdog_set() { [ "$(property gateway WatchdogUSec)" = 1min ] && [ "$(property gateway Type)" = notify ] &&
  ps -o user= -p "$(property gateway MainPID)" | grep -x berth; }
security() { systemd-analyze security --no-pager berth-gateway | sed -n 's/^[^O]*\(Overall.*[0-9]\) .*/\1/p' | grep .; }
back() { [ "$(property gateway MainPID)" != "$1" ] && [ "$(property gateway MainPID)" != 0 ] && ready gateway; }
comes_back() { local old; old=$(property gateway MainPID); [ "${old:-0}" != 0 ] && kill -9 "$old" && within 120 back "$old"; }
enrolled() { cd /root && berthctl enroll "$(hostname)" --password --address 127.0.0.1 && install -m 600 "$(hostname)"/* /etc/berth; }
agent_ready() { systemctl restart berth-agent && systemctl is-active berth-agent && ctl get nodes | grep "$(hostname)"; }
runs() { ctl get pods | grep -E "web .*Running" && pgrep -f "sleep 424242"; }
pod_runs() {
  ctl apply -f - <<<'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","command":["sleep","424242"]}]}}' &&
    within 120 runs
}
outlives() { local pod; pod=$(pgrep -of "sleep 424242") && systemctl restart berth-agent && kill -0 "$pod" && within 60 runs; }
upgrade() { local pod; pod=$(pgrep -of "sleep 424242") && dpkg -i /debs/*.deb && kill -0 "$pod" && within 60 runs; }
# What the gateway asks for a device whose certificate is about to end.
signs() {
  cd /root && berthctl enroll signed --certificate --address 127.0.0.1 &&
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -subj /CN=other -out request &&
    setpriv --reuid berth --regid berth --clear-groups perl -MIO::Socket::UNIX -e '
      my $signing = IO::Socket::UNIX->new("/run/berth-signing.sock") or die $!;
      local $/; my $request = <STDIN>; $request =~ s/\n/\\n/g;
      print $signing "{\"node\":\"signed\",\"request\":\"$request\"}"; $signing->flush; shutdown $signing, 1;
      print <$signing>, "\n"' <request | grep "BEGIN CERTIFICATE"
}
joins() {
  berth-broker machine && return 1  # it serves somebody else
  rm /etc/mosquitto/conf.d/others.conf && berth-broker machine && within 120 runs && ! systemctl is-active berth-mosquitto
}
leaves() { berth-broker own && within 120 runs && systemctl is-active berth-mosquitto; }
removed() { apt-get -qq remove -y berth-agent 2>&1 | grep "stopping the workloads" && ! pgrep -f "sleep 424242"; }
reinstalled() { dpkg -i /debs/berth-agent_*.deb && within 120 runs; }

if [ -e /var/lib/berth/gateway.db ]; then
  step second-boot within 300 runs
  step joins joins
  step leaves leaves
  step removal-stops-pods removed
  step goes-on-when-reinstalled reinstalled
else
  mosquitto_now >/mosquitto-before
  step conflict-fails conflict_fails
  step installed installed
  step gateway-ready within 120 ready gateway
  step watchdog-set watchdog_set
  step security security
  step comes-back comes_back
  step enrolled enrolled
  step agent-ready within 120 agent_ready
  step pod-runs pod_runs
  step pod-outlives-agent outlives
  step pod-outlives-upgrade upgrade
  step signs signs
  step others-untouched others_untouched
fi
echo "@end"
systemctl --no-block poweroff
"""
UNIT = """[Unit]
After=multi-user.target
[Service]
Type=simple
ExecStart=/try
[Install]
WantedBy=multi-user.target
"""


def disk_of(debian, image):
    used = int(subprocess.run(["du", "-sm", debian.root], capture_output=True, text=True, check=True).stdout.split()[0])
    with open(image, "wb") as file:
        file.truncate((used + FREE_MIB) << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", debian.root, image], check=True)


def boot(debian, image):
    """Boots the machine and returns its console output up to power-off."""
    kernel, initrd = (next(debian.path("/boot").glob(name)) for name in ("vmlinuz-*", "initrd.img-*"))
    command = ["qemu-system-x86_64", "-accel", "tcg", "-smp", "2", "-m", "1024", "-nographic", "-no-reboot",
               "-nic", "none", "-kernel", kernel, "-initrd", initrd, "-append",
               "root=/dev/vda rw console=ttyS0 panic=-1 systemd.show_status=0", "-drive", f"if=virtio,format=raw,file={image}"]
    console = image.with_suffix(".log")
    with open(console, "w", encoding="utf-8") as out:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=BOOT_S, check=False)
    return console.read_text(encoding="utf-8", errors="replace")


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    folder = tmp_path_factory.mktemp("systemd")
    debian = Debian(folder / "root", include="ca-certificates,systemd-sysv,linux-image-cloud-amd64,initramfs-tools,procps,iproute2")
    debian.write("/etc/hostname", "edge-a\n")
    debian.path("/debs").mkdir()
    for package in PACKAGES:
        shutil.copy(deb(package), debian.path("/debs"))
    # Dependencies of our packages go to apt's cache: the machine has no network.
    debian.run("sh", "-c", "apt-get -qq install -y --download-only --no-install-recommends /debs/*.deb", timeout=600)
    debian.run("apt-get", "-qq", "install", "-y", "--no-install-recommends", "mosquitto", timeout=600)
    debian.write("/etc/mosquitto/conf.d/others.conf", OTHERS)
    debian.path("/usr/sbin/policy-rc.d").unlink()
    debian.write("/try", TRY).chmod(0o755)
    debian.write("/etc/systemd/system/try.service", UNIT)
    debian.run("systemctl", "enable", "try.service")
    disk_of(debian, folder / "disk.img")
    text = boot(debian, folder / "disk.img") + boot(debian, folder / "disk.img")
    for folder_or_file in (debian.root, folder / "disk.img"):
        subprocess.run(["rm", "-rf", folder_or_file], check=True)
    return text


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the machine in QEMU is x86-64")
@pytest.mark.parametrize("step", STEPS)
def test_under_systemd(console, step):
    reports = re.findall(rf"@ok {step}\b.*", console)  # a login prompt may precede it on the same line
    print("\n".join(reports))
    failed = console.find(f"@failed {step}")
    assert reports, console[max(failed - 12000, 0):failed] if failed >= 0 else console[-12000:]
