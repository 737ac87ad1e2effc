"""berthctl exec: commands in plain processes and in real containers, through a real broker."""

import fcntl
import os
import pty
import random
import select
import shutil
import signal
import struct
import subprocess
import termios

import images
import pytest
from manifests import pod
from programs import program_path
from test_containers import cgroups, device, registry  # noqa: F401, fixtures
from test_containers import pod as container_pod
from waiting import wait_until

in_containers = pytest.mark.skipif(os.geteuid() != 0 or bool(images.missing()), reason="needs root, runc and a registry")


def argv(fleet, *arguments):
    return [str(each) for each in (program_path("berthctl"), *fleet.connection("operator", fleet.port), "--fleet", fleet.name,
                                   "--gateway", fleet.gateway_name, *arguments)]


def run(fleet, *arguments, data=None, timeout=60):
    return subprocess.run(argv(fleet, "exec", *arguments), input=data, stdin=subprocess.DEVNULL if data is None else None,
                          capture_output=True, timeout=timeout, check=False)


def processes_with(word):
    """Command lines on this machine that contain it."""
    found = []
    for each in os.listdir("/proc"):
        try:
            line = open(f"/proc/{each}/cmdline", "rb").read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line and "berthctl" not in line:
            found.append(line)
    return found


@pytest.fixture
def talker(fleet):
    fleet.start("n1")
    manifest = pod("talker")
    manifest["spec"]["containers"][0]["env"] = [{"name": "COLOUR", "value": "green"}]
    fleet.apply(manifest)
    fleet.wait_phase("talker", "Running")
    return fleet


def test_output_errors_and_exit_code_come_back_apart(talker):
    done = run(talker, "talker", "--", "sh", "-c", "echo out; echo err >&2; echo $COLOUR; exit 7")
    assert (done.returncode, done.stdout) == (7, b"out\ngreen\n")
    assert done.stderr == b"err\nberthctl: command terminated with exit code 7\n"
    assert run(talker, "talker", "--", "true").returncode == 0
    assert run(talker, "pod/talker", "-c", "main", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_several_mebibytes_of_input_come_back_equal(talker):
    data = random.Random(1).randbytes(3 * 1024 * 1024)
    done = run(talker, "-i", "talker", "--", "cat", data=data)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == data


def test_a_command_without_input_reads_its_end_at_once(talker):
    assert run(talker, "talker", "--", "cat").stdout == b""
    assert run(talker, "-i", "talker", "--", "wc", "-c", data=b"").stdout.strip() == b"0"


def test_input_that_nobody_reads_holds_nothing_up(talker):
    assert run(talker, "-i", "talker", "--", "true", data=b"x" * 1_000_000).returncode == 0
    done = run(talker, "-i", "talker", "--", "sh", "-c", "exec <&-; echo closed", data=b"x" * 1_000_000)
    assert (done.returncode, done.stdout) == (0, b"closed\n")


def test_what_cannot_be_run_is_refused_with_the_reason(talker):
    talker.apply(pod("job", command=("sh", "-c", "exit 3"), restartPolicy="Never"))
    talker.wait_phase("job", "Failed")
    for arguments, words in ((["nobody", "--", "true"], "pod default/nobody not found"),
                             (["talker", "-c", "side", "--", "true"], "container side is not in pod default/talker, which has main"),
                             (["talker", "--", "no-such-program"], "command 'no-such-program' not found"),
                             (["job", "--", "true"], "does not run")):
        done = run(talker, *arguments)
        assert done.returncode == 1 and words in done.stderr.decode(), (arguments, done.stderr)
    assert run(talker, "talker").returncode == 2, "no command"


def test_a_terminal_has_its_size_and_what_is_typed_and_ends_with_the_exit_code(talker):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 133, 0, 0))
    with subprocess.Popen(argv(talker, "exec", "-it", "talker", "--", "sh"), stdin=slave, stdout=slave, stderr=slave,
                          start_new_session=True) as running:
        seen = bytearray()

        def has(word):
            while select.select([master], [], [], 0)[0]:
                seen.extend(os.read(master, 65536))
            return word in seen

        def read_until(word):
            try:
                wait_until(lambda: has(word), f"{word} at the terminal")
            except AssertionError as late:
                running.kill()
                raise AssertionError(bytes(seen)) from late

        # The arithmetic tells the answer from the echo of what was typed.
        os.write(master, b"stty size; test -t 0 && test -t 1 && echo tty$((40+2))\n")
        read_until(b"41 133")
        read_until(b"tty42")
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 99, 0, 0))
        os.kill(running.pid, signal.SIGWINCH)
        os.write(master, b"until stty size | grep '50 99'; do :; done\n")
        read_until(b"\n50 99")
        os.write(master, b"sleep 1004.5\n")
        wait_until(lambda: processes_with("sleep 1004.5"), "its start")
        os.write(master, b"\x03")
        wait_until(lambda: not processes_with("sleep 1004.5"), "its end")
        os.write(master, b"echo interrupted$((40+2))\n")
        read_until(b"interrupted42")
        os.write(master, b"exit 5\n")
        assert running.wait(30) == 5
    os.close(slave)
    os.close(master)


def test_a_command_ends_with_its_operator(talker):
    for number in (signal.SIGINT, signal.SIGKILL):
        mark = f"10{number.value}.25"
        with subprocess.Popen(argv(talker, "exec", "-i", "talker", "--", "sh", "-c", f"echo up; sleep {mark} & sleep {mark}; true"),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            assert running.stdout.readline() == b"up\n"
            running.send_signal(number)
            running.wait(30)
            wait_until(lambda mark=mark: not processes_with(f"sleep {mark}"), "the end of the command and of its children", 60)


def test_a_command_is_not_run_twice_by_a_broker_that_restarts(talker, broker, tmp_path):
    log = tmp_path / "runs"
    with subprocess.Popen(argv(talker, "exec", "-i", "talker", "--", "sh", "-c", f"echo run >> {log}; echo up; cat"),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"up\n"
        broker.kill()
        broker.start()
        assert running.wait(30) == 3
        assert b"the connection to the broker was lost" in running.stderr.read()
    assert log.read_text(encoding="utf-8") == "run\n"
    wait_until(lambda: run(talker, "talker", "--", "true").returncode == 0, "another command")


def test_floods_in_both_directions_delay_no_bind(talker):
    flood = [subprocess.Popen(argv(talker, "exec", "-i", "talker", "--", "sh", "-c", "cat > /dev/null & exec yes"),
                              stdin=open("/dev/zero", "rb"), stdout=subprocess.PIPE) for _ in range(3)]
    for each in flood:
        assert each.stdout.read(2) == b"y\n"
    names = [f"web-{i}" for i in range(5)]
    talker.apply(*(pod(name) for name in names))
    for name in names:
        talker.wait_running(name)
    for each in flood:
        each.kill()
        each.stdout.close()
        each.wait()


@pytest.fixture
def container(device, registry):  # noqa: F811
    image = registry.push("tools:1", {"Cmd": ["sleep", "1000"], "User": "nobody", "Env": ["COLOUR=green"]})
    device.apply(container_pod("tools", image, resources={"limits": {"memory": "64Mi"}}, workingDir="/tmp"))
    device.wait_phase("tools", "Running")
    return device


@in_containers
def test_in_a_container_a_command_is_its_user_in_its_directory_and_control_group(container):
    done = run(container, "tools", "--", "sh", "-c", "id -u; pwd; echo $COLOUR; cat /proc/self/cgroup; ls /proc | grep -c '^[0-9]'; exit 9")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 9 and lines[:3] == ["65534", "/tmp", "green"], done
    own, first = (run(container, "tools", "--", "cat", f"/proc/{each}/cgroup").stdout for each in ("self", "1"))
    assert own == first, "the same control group as the container's first process"
    assert b"executable file not found" in run(container, "tools", "--", "no-such-program").stderr


@in_containers
def test_in_a_container_input_comes_back_equal_and_streams_stay_apart(container):
    data = random.Random(2).randbytes(2 * 1024 * 1024)
    done = run(container, "-i", "tools", "--", "sh", "-c", "cat; echo over >&2", data=data)
    assert (done.returncode, done.stderr) == (0, b"over\n")
    assert done.stdout == data


@in_containers
def test_in_a_container_a_terminal_works_and_a_command_ends_with_its_operator(container):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    with subprocess.Popen(argv(container, "exec", "-it", "tools", "--", "sh", "-c", "test -t 0 && echo $TERM; sleep 1002.5; true"),
                          stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as running:
        seen = b""
        while b"xterm" not in seen:
            seen += os.read(master, 1024)
        assert processes_with("sleep 1002.5")
        running.kill()
        running.wait()
        wait_until(lambda: not processes_with("sleep 1002.5"), "the end of the command", 60)
    os.close(slave)
    os.close(master)
    assert container.get("pod", "tools")["status"]["containerStatuses"][0]["restartCount"] == 0


@in_containers
def test_a_command_does_not_outlive_an_agent_that_is_killed(container):
    with subprocess.Popen(argv(container, "exec", "tools", "--", "sh", "-c", "sleep 1005.5 & sleep 1005.5; true"), stdout=subprocess.PIPE) as running:
        wait_until(lambda: len(processes_with("sleep 1005.5")) >= 2, "its start")
        container.kill("n1")
        container.restart("n1")
        wait_until(lambda: not processes_with("sleep 1005.5"), "its end")
        running.kill()
        running.wait()
    container.wait_node("n1")
    assert container.wait_phase("tools", "Running")["containerStatuses"][0]["restartCount"] == 0
    wait_until(lambda: run(container, "tools", "--", "true").returncode == 0, "another command")


def test_a_command_beside_a_plain_process_ends_with_the_agent(talker):
    with subprocess.Popen(argv(talker, "exec", "talker", "--", "sleep", "1006.5"), stdout=subprocess.PIPE) as running:
        wait_until(lambda: processes_with("sleep 1006.5"), "its start")
        talker.kill("n1")
        wait_until(lambda: not processes_with("sleep 1006.5"), "its end")
        running.kill()
        running.wait()


@in_containers
def test_a_command_is_refused_once_its_container_is_gone(container):
    with subprocess.Popen(argv(container, "exec", "tools", "--", "sleep", "1003.5"), stdout=subprocess.PIPE) as running:
        wait_until(lambda: processes_with("sleep 1003.5"), "its start")
        container.ctl("delete", "pod", "tools")
        assert running.wait(60) != 0
    wait_until(lambda: not cgroups(container), "the end of its processes")
    assert run(container, "tools", "--", "true").returncode == 1


def test_what_an_operator_does_is_in_the_log_of_the_device_without_arguments(talker):
    assert run(talker, "talker", "--", "sh", "-c", "true secret-argument").returncode == 0
    text = talker.programs["n1"].output()
    assert "secret-argument" not in text and "main: sh" in text


def test_a_command_in_a_plain_processs_pod_inherits_no_files_of_the_agent(talker):
    done = run(talker, "talker", "--", "sh", "-c", "for each in /proc/$$/fd/*; do [ ! -e $each ] || echo ${each##*/}; done")
    assert done.stdout.split() == [b"0", b"1", b"2"], done.stdout


@pytest.fixture
def slow_runtime(tmp_path):
    """runc, whose "exec" for operators says which process the command is only once `gate` is there."""
    gate = tmp_path / "gate"
    path = tmp_path / "slow-runtime"
    path.write_text(f"""#!/bin/bash
[[ " $* " == *" exec --pid-file "*stream.* ]] || exec {shutil.which("runc")} "$@"
arguments=("$@")
for i in "${{!arguments[@]}}"; do
  if [ "${{arguments[i]}}" = --pid-file ]; then
    file="${{arguments[i+1]}}"
    arguments[i+1]="$file.later"
  fi
done
setsid {shutil.which("runc")} "${{arguments[@]}}" &
until [ -e {gate} ]; do sleep 0.01; done
mv "$file.later" "$file"
wait $!
""", encoding="utf-8")
    path.chmod(0o755)
    return path, gate


@in_containers
def test_a_command_whose_stream_ends_before_its_process_is_known_ends_too(fleet, registry, slow_runtime, tmp_path):  # noqa: F811
    runtime, gate = slow_runtime
    config = tmp_path / "containers.yaml"
    config.write_text(f"containers:\n  insecure_registries: ['{registry.address}']\n  cni_config_dir: {tmp_path}/cni\n", encoding="utf-8")
    memory = f"/dev/shm/{fleet.name}"
    fleet.start("n1", extra=["--config", config, "--container-runtime", runtime, "--secret-dir", memory])
    fleet.apply(container_pod("tools", registry.push("tools:1", {"Cmd": ["sleep", "1000"]})))
    fleet.wait_phase("tools", "Running")
    with subprocess.Popen(argv(fleet, "exec", "-i", "tools", "--", "sh", "-c", "echo up; sleep 1007.5; true"),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"up\n"
        running.send_signal(signal.SIGINT)
        running.wait(30)
    # The device has heard of the first one's end when it has that of a later one.
    with subprocess.Popen(argv(fleet, "exec", "-i", "tools", "--", "sh", "-c", "echo up; sleep 1008.5; true"),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"up\n"
        assert processes_with("sleep 1007.5")
        gate.touch()
        try:
            wait_until(lambda: not processes_with("sleep 1007.5"), "the end of the command")
        finally:
            running.kill()
    wait_until(lambda: not processes_with("sleep 1008.5"), "the end of the other one", 60)
    fleet.ctl("delete", "pod", "tools")
    wait_until(lambda: not cgroups(fleet), "the end of all containers")
    shutil.rmtree(memory, ignore_errors=True)
