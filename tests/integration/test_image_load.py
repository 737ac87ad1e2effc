"""berthctl image load: images for devices without a registry, through a real broker into real containers."""

import gzip
import os
import signal
import subprocess
from pathlib import Path

import images
import pytest
from programs import program_path
from test_registries import pod, start  # noqa: F401, a fixture
from waiting import wait_until

in_containers = pytest.mark.skipif(os.geteuid() != 0 or bool(images.missing()), reason="needs root, runc and skopeo")


def archive(folder, name, form="docker-archive", script="echo hello; exec sleep 1000"):
    """A file as docker save (or, as an oci-archive, other tools) would write it; `name`: of its image."""
    layout = folder / f"layout-{form}"
    images.write_layout(layout, [images.layer({}, busybox=images.BUSYBOX), images.layer({"usr/bin/hello": (f"#!/bin/sh\n{script}\n", 0o755)})],
                        {"Env": ["PATH=/usr/bin:/bin"], "Cmd": ["hello"]})
    path = folder / f"{form}.tar"
    subprocess.run(["skopeo", "copy", "--quiet", f"oci:{layout}:image", f"{form}:{path}:{name}"], check=True, capture_output=True)
    return path


def argv(fleet, *arguments):
    return [str(each) for each in (program_path("berthctl"), *fleet.connection("operator", fleet.port), "--fleet", fleet.name,
                                   "--gateway", fleet.gateway_name, "image", "load", *arguments)]


def in_store(fleet, below, node="n1"):
    return sorted(each.name for each in Path(fleet.state_dir(node), "images", below).iterdir())


def runs(fleet, name, image, policy):
    manifest = pod(name, image)
    manifest["spec"]["containers"][0]["imagePullPolicy"] = policy
    fleet.apply(manifest)
    fleet.wait_phase(name, "Running", timeout_s=60)
    wait_until(lambda: fleet.ctl("logs", name).stdout == "hello\n", "what it wrote")


@pytest.fixture
def device(start):  # noqa: F811
    return start("", "n1")


@in_containers
def test_pods_run_from_an_archive_that_an_operator_sent(device, tmp_path):
    done = device.ctl("image", "load", "n1", archive(tmp_path, "factory/hello:1"), timeout_s=60)
    assert done.stdout == "Loaded image: docker.io/factory/hello:1\n"
    assert done.stderr.endswith("MiB; the device loads what it has got\n")
    assert in_store(device, "staging") == []
    wait_until(lambda: "factory/hello:1" in device.ctl("image", "list", "n1").stdout, "the device's report of it")
    runs(device, "never", "factory/hello:1", "Never")
    runs(device, "if-not-present", "factory/hello:1", "IfNotPresent")


@in_containers
def test_a_compressed_layout_comes_from_a_pipe_under_another_name(device, tmp_path):
    data = gzip.compress(archive(tmp_path, "r.example/hello:1", "oci-archive").read_bytes())
    done = subprocess.run(argv(device, "n1", "-", "--name", "other:2"), input=data, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"Loaded image: docker.io/library/other:2\n"), done.stderr
    runs(device, "other", "other:2", "Never")
    with subprocess.Popen(["tar", "-C", tmp_path / "layout-oci-archive", "-c", "."], stdout=subprocess.PIPE) as tar:
        done = subprocess.run(argv(device, "n1", "-", "--name", "tarred:3"), stdin=tar.stdout, capture_output=True, timeout=60, check=False)
    assert done.stdout == b"Loaded image: docker.io/library/tarred:3\n", done.stderr


@in_containers
def test_a_broken_archive_is_refused_with_the_reason_and_leaves_nothing(device, tmp_path):
    whole = archive(tmp_path, "hello:1").read_bytes()
    at = whole.index(b"exec sleep 1000")
    cut, changed, text = tmp_path / "cut.tar", tmp_path / "changed.tar", tmp_path / "text.tar"
    cut.write_bytes(whole[:len(whole) // 2])
    changed.write_bytes(whole[:at] + b"exec sleep 9999" + whole[at + 15:])
    text.write_text("no archive\n", encoding="utf-8")
    for path, words in ((cut, "the archive is no tar: Truncated input"), (changed, "image docker.io/library/hello:1: "), (text, "cannot read the archive as a tar")):
        done = device.ctl("image", "load", "n1", path, check=False, timeout_s=60)
        assert (done.returncode, done.stdout) == (1, ""), path
        assert done.stderr.splitlines()[-1].startswith("berthctl: n1: ") and words in done.stderr, (path, done.stderr)
        assert in_store(device, "staging") == []
        for below in ("images", "layers", "blobs/sha256"):
            wait_until(lambda below=below: in_store(device, below) == [], f"{below} without what came of {path.name}")
    assert device.ctl("image", "list", "n1").stdout.split() == ["IMAGE", "SIZE"]


@in_containers
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_came_of_an_archive_goes_with_its_operator(device, tmp_path, number):
    whole = archive(tmp_path, "hello:1")
    with sending_half(device) as half:
        other = device.ctl("image", "load", "n1", whole, check=False)
        assert other.returncode == 1 and "another archive of images is being loaded" in other.stderr
        half.send_signal(number)
        wait_until(lambda: in_store(device, "staging") == [], "an empty staging", 60)
    assert "hello:1" in device.ctl("image", "load", "n1", whole, timeout_s=60).stdout


@in_containers
def test_what_came_of_an_archive_goes_with_the_next_start_of_a_killed_agent(device):
    with sending_half(device) as half:
        device.kill("n1")
        assert in_store(device, "staging") == ["upload"]
        device.restart("n1")
        wait_until(lambda: in_store(device, "staging") == [], "an empty staging")
        half.wait(60)
        assert half.returncode == 1, "it hears that the device has no such stream"


def sending_half(fleet):
    """An operator's program that has sent so much of an archive that the device has some of it, and waits for the rest."""
    program = subprocess.Popen(argv(fleet, "n1", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdin.write(b"x" * 100_000)
    program.stdin.flush()
    upload = Path(fleet.state_dir("n1"), "images", "staging", "upload")
    wait_until(lambda: upload.exists() and upload.stat().st_size == 100_000, "the first bytes")
    return program


@in_containers
def test_an_archive_that_is_too_large_for_the_device_is_refused_before_it_is_sent(start, tmp_path):  # noqa: F811
    fleet = start("  image_high_percent: 1\n  image_low_percent: 0\n", "n1")
    small, large = archive(tmp_path, "hello:1"), tmp_path / "large.tar"
    with large.open("wb") as file:
        file.truncate(5 * 1024**3)
    for path, words in ((small, "would be used to 1 % (containers.image_high_percent)"), (large, "at most 4096 MiB")):
        done = fleet.ctl("image", "load", "n1", path, check=False)
        assert done.returncode == 1 and words in done.stderr and "sent" not in done.stderr, done.stderr
    assert in_store(fleet, "staging") == []


def test_a_device_that_cannot_load_images_says_why(fleet, tmp_path):
    fleet.start("n1")
    file = tmp_path / "file"
    file.write_bytes(b"x")
    for arguments, code, words in ((["n1", file], 1, "runs no containers"), (["n2", file], 1, "node n2 not found"),
                                   (["n1", tmp_path / "none"], 2, "cannot open"), (["n1", tmp_path], 2, "is a directory: send it by tar"),
                                   (["n1", file, "--name", "A B"], 1, "runs no containers")):
        done = fleet.ctl("image", "load", *arguments, check=False)
        assert done.returncode == code and words in done.stderr, (arguments, done.stderr)
