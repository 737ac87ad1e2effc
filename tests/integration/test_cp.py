"""berthctl cp: files and directories to and from pods, by a real tar on both sides."""

import io
import os
import random
import shlex
import tarfile

import images
import pytest
from manifests import pod
from test_containers import device, registry  # noqa: F401, fixtures
from test_containers import pod as container_pod
from test_port_forward import talker  # noqa: F401, a fixture

in_containers = pytest.mark.skipif(os.geteuid() != 0 or bool(images.missing()), reason="needs root, runc and a registry")


def copy(fleet, *arguments, check=True):
    return fleet.ctl("cp", *arguments, check=check, timeout_s=60)


def test_a_file_and_a_directory_go_there_and_back(talker, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    big = random.Random(5).randbytes(1_500_000)
    (tree / "deep" / "big").write_bytes(big)
    (tree / "a file.[x]$").write_text("odd name\n", encoding="utf-8")
    (tree / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (tree / "run").chmod(0o755)
    os.symlink("deep/big", tree / "link")

    copy(talker, tree / "a file.[x]$", "talker:" + str(there / "called, other\\wise&"))
    assert (there / "called, other\\wise&").read_text(encoding="utf-8") == "odd name\n"
    copy(talker, tree, f"default/talker:{there}/copied")
    assert (there / "copied" / "deep" / "big").read_bytes() == big
    assert os.readlink(there / "copied" / "link") == "deep/big"
    assert (there / "copied" / "run").stat().st_mode & 0o111
    copy(talker, f"{tree}/", f"talker:{there}")
    assert (there / "tree" / "run").exists(), "into a directory that is there"

    here = tmp_path / "here"
    done = copy(talker, f"talker:{there}/copied", here)
    assert (here / "deep" / "big").read_bytes() == big and (here / "run").stat().st_mode & 0o111
    assert not os.path.lexists(here / "link") and f"{here}/link is a symbolic link, skipped" in done.stderr
    copy(talker, f"talker:{there}/copied/run", here)
    assert (here / "run").read_text(encoding="utf-8") == "#!/bin/sh\n"


def test_what_cannot_be_copied_is_told(talker, tmp_path):
    for arguments, code, words in (([tmp_path, tmp_path], 2, "one of the two must be POD:PATH"), (["talker:/a", "talker:/b"], 2, "one of the two"),
                                   ([tmp_path / "none", "talker:/tmp/x"], 2, "cannot read"), (["talker:/..", tmp_path], 2, "names no file"),
                                   (["nobody:/etc/passwd", tmp_path], 1, "pod default/nobody not found"),
                                   (["talker:/no/such/file", tmp_path / "x"], 1, "tar in the container: ")):
        done = copy(talker, *arguments, check=False)
        assert done.returncode == code and words in done.stderr, (arguments, done.stderr)
    assert not (tmp_path / "x").exists()


def archive(path, *members):
    """An archive of (name, content of a file) or (name, a type of tarfile, the target of a link)."""
    with tarfile.open(path, mode="w") as made:
        for name, *what in members:
            info = tarfile.TarInfo(name)
            if isinstance(what[0], str):
                info.size = len(what[0])
                made.addfile(info, io.BytesIO(what[0].encode()))
            else:
                info.type, info.linkname = what[0], what[1] if len(what) > 1 else ""
                info.devmajor, info.devminor = 1, 3
                made.addfile(info)


def hostile(fleet, tmp_path, tar):
    """A pod whose tar is this script."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "tar").write_text(f"#!/bin/sh\n{tar}\n", encoding="utf-8")
    (programs / "tar").chmod(0o755)
    fleet.start("n1")
    manifest = pod("hostile", command=("/usr/bin/sleep", "1000"))
    manifest["spec"]["containers"][0]["env"] = [{"name": "PATH", "value": f"{programs}:/usr/bin:/bin"}]
    fleet.apply(manifest)
    fleet.wait_phase("hostile", "Running")


@pytest.fixture
def sends(fleet, tmp_path):
    """A pod whose tar sends what this function was given last."""
    sent = tmp_path / "evil.tar"
    hostile(fleet, tmp_path, f"exec cat {shlex.quote(str(sent))}")
    return lambda *members: archive(sent, *members)


def test_a_hostile_tar_writes_nothing_but_what_was_asked_for(fleet, sends, tmp_path):
    """Names that climb, absolute ones, others than were asked for, and links to lead elsewhere."""
    sends(("./.bashrc", "evil"), ("../climbed", "evil"), (str(tmp_path / "absolute"), "evil"), ("./data/../../climbed", "evil"),
          ("./data/out", tarfile.SYMTYPE, str(tmp_path)), ("./data/out/through", "evil"), ("./data/good", "good"))
    home = tmp_path / "home" / "inner"
    home.mkdir(parents=True)
    copy(fleet, "hostile:/data", home / "got", check=False)
    assert sorted(each.name for each in home.iterdir()) == ["got"]
    assert [each.name for each in (home / "got").iterdir()] == ["good"]
    assert not (tmp_path / "through").exists() and not (tmp_path / "absolute").exists()
    assert not list(tmp_path.rglob("climbed")) and not list(tmp_path.rglob(".bashrc"))


def test_a_link_to_the_same_directory_does_not_lead_out_of_the_copied_name(fleet, sends, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("mine", encoding="utf-8")
    sends(("./data", tarfile.SYMTYPE, "."), ("./data/.bashrc", "evil"))
    done = copy(fleet, "hostile:/data", home, check=False)
    assert done.returncode == 1 and "data is a symbolic link in the container, which cp does not copy" in done.stderr
    assert [each.name for each in home.iterdir()] == [".bashrc"]
    assert (home / ".bashrc").read_text(encoding="utf-8") == "mine"


def test_a_second_copy_does_not_go_through_a_link_that_the_first_one_left(fleet, sends, tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    sends(("./data/l", tarfile.SYMTYPE, str(other)))
    assert "data/l is a symbolic link, skipped" in copy(fleet, "hostile:/data", home).stderr
    sends(("./data/l/authorized_keys", "evil"))
    copy(fleet, "hostile:/data", home)
    assert not list(other.iterdir()) and (home / "data" / "l" / "authorized_keys").is_file()


def test_what_is_copied_replaces_its_own_kind_and_follows_no_link_that_is_there(fleet, sends, tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    (home / "data" / "file").mkdir(parents=True)
    other.mkdir()
    (home / "data" / "same").write_text("old", encoding="utf-8")
    (home / "data" / "kept").write_text("kept", encoding="utf-8")
    os.symlink(other, home / "data" / "d")
    os.symlink(other / "f", home / "data" / "f")
    sends(("./data/same", "new"))
    copy(fleet, "hostile:/data", home)
    assert [(home / "data" / each).read_text(encoding="utf-8") for each in ("same", "kept")] == ["new", "kept"]
    for member, why in (("d/x", "no directory"), ("f", "no regular file"), ("file", "no regular file"), ("same/x", "no directory")):
        sends((f"./data/{member}", "evil"))
        done = copy(fleet, "hostile:/data", home, check=False)
        assert done.returncode == 71 and f"what is there is {why}; remove it first" in done.stderr, (member, done.stderr)
    assert not list(other.iterdir()) and os.readlink(home / "data" / "d") == str(other)


def test_devices_and_pipes_of_a_container_are_not_made_here(fleet, sends, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    sends(("./data/null", tarfile.CHRTYPE), ("./data/pipe", tarfile.FIFOTYPE), ("./data/good", "good"))
    done = copy(fleet, "hostile:/data", home, check=False)
    assert [each.name for each in (home / "data").iterdir()] == ["good"]
    assert "data/pipe is a special file, skipped" in done.stderr
    sends(("./data", tarfile.FIFOTYPE))
    assert "home/data is a special file in the container, which cp does not copy" in copy(fleet, "hostile:/data", home, check=False).stderr
    assert [each.name for each in home.iterdir()] == ["data"], "nothing is left of what was unpacked"


def test_what_a_container_says_is_kept_up_to_a_limit(fleet, tmp_path):
    hostile(fleet, tmp_path, "yes flood | head -c 300000 >&2; exit 3")
    done = copy(fleet, "hostile:/data", tmp_path / "got", check=False)
    assert done.returncode == 1 and "tar in the container: flood" in done.stderr
    assert len(done.stderr) < 5000


@in_containers
def test_an_image_without_tar_is_told_so(device, registry, tmp_path):  # noqa: F811
    image = registry.push("small:1", {"Cmd": ["sleep", "1000"]})
    device.apply(container_pod("small", image))
    device.wait_phase("small", "Running")
    for arguments in ((tmp_path / "evil", "small:/tmp/x"), ("small:/etc/passwd", tmp_path / "got")):
        (tmp_path / "evil").write_text("x", encoding="utf-8")
        done = copy(device, *arguments, check=False)
        assert done.returncode == 1 and "cp needs the program tar in the container, and pod default/small has none" in done.stderr, done.stderr


@in_containers
def test_files_go_to_and_from_a_container_with_the_tar_of_busybox(device, registry, tmp_path):  # noqa: F811
    image = registry.push("tools:1", {"Cmd": ["sleep", "1000"]},
                          {"bin/tar": ("#!/bin/sh\nexec /bin/busybox tar \"$@\"\n", 0o755), "srv/in": "from the image\n"})
    device.apply(container_pod("tools", image))
    device.wait_phase("tools", "Running")
    copy(device, "tools:/srv/in", tmp_path / "got")
    assert (tmp_path / "got").read_text(encoding="utf-8") == "from the image\n"
    (tmp_path / "mine").write_text("mine\n", encoding="utf-8")
    copy(device, tmp_path / "mine", "tools:/srv")
    copy(device, "tools:/srv/mine", tmp_path / "back")
    assert (tmp_path / "back").read_text(encoding="utf-8") == "mine\n"
