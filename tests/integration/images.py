"""Images that tests make, and a registry on loopback to push them to. Each has busybox, and scripts as its programs."""

import crypt
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import ports
from programs import Program
from waiting import wait_until

BUSYBOX = Path("/bin/busybox")
APPLETS = ("sh", "cat", "id", "echo", "ls", "sleep", "touch", "nc", "httpd", "env", "pwd", "mkdir", "wget", "test", "grep", "ip",
           "hostname", "head", "printf", "sed", "true", "kill", "killall", "stat", "df", "sync")
PROGRAMS = ("skopeo", "docker-registry", "runc")


def missing():
    """What this machine lacks for pods with images; empty: nothing."""
    lacks = [name for name in PROGRAMS if not shutil.which(name)]
    return lacks + ([] if BUSYBOX.exists() else ["busybox-static"])


def layer(files, busybox=None):
    """A tar. `files`: text or bytes by path; a tuple (text, mode) sets the mode. `busybox`: the program, with its applets."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        def add(name, data=b"", mode=0o644, kind=tarfile.REGTYPE, link=""):
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.size, info.linkname, info.mtime = kind, mode, len(data), link, 1_000_000_000
            tar.addfile(info, io.BytesIO(data))

        if busybox:
            for name, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777), ("usr", 0o755), ("usr/bin", 0o755)):
                add(name, mode=mode, kind=tarfile.DIRTYPE)
            add("bin/busybox", busybox.read_bytes(), 0o755)
            add("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
            for name in APPLETS:
                add(f"bin/{name}", kind=tarfile.SYMTYPE, link="busybox")
        for name, content in files.items():
            text, mode = content if isinstance(content, tuple) else (content, 0o644)
            add(name.lstrip("/"), text.encode() if isinstance(text, str) else text, mode)
    return buffer.getvalue()


def write_layout(folder, layers, config, architecture="amd64"):
    """An OCI layout (image-spec, Image Layout) with one image, "image"."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    described = [blob(data, "layer.v1.tar") for data in layers]
    diff_ids = [each["digest"] for each in described]
    whole = {"architecture": architecture, "os": "linux", "config": config,
             "rootfs": {"type": "layers", "diff_ids": diff_ids}}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": blob(json.dumps(whole).encode(), "config.v1+json"), "layers": described}
    top = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    top["annotations"] = {"org.opencontainers.image.ref.name": "image"}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [top]}), encoding="utf-8")
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}', encoding="utf-8")


class Registry:
    """A docker-registry; images are pushed to it by name. busybox, architecture: what they hold. `user`: it asks for this
    (name, password). `remote`: another one that it mirrors."""

    def __init__(self, folder, user=None, remote=None, busybox=BUSYBOX, architecture="amd64"):
        self.folder, self.busybox, self.architecture = folder, busybox, architecture
        self.port = ports.free_port()
        self.address = f"127.0.0.1:{self.port}"
        folder.mkdir()
        config = folder / "config.yml"
        config.write_text(f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {folder}/data\n"
                          f"http:\n  addr: {self.address}\n", encoding="utf-8")
        self.credentials = ["--dest-creds", ":".join(user)] if user else []
        if remote:
            with config.open("a", encoding="utf-8") as file:
                file.write(f"proxy:\n  remoteurl: http://{remote.address}\n")
        if user:
            users = folder / "htpasswd"
            users.write_text(f"{user[0]}:{crypt.crypt(user[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n", encoding="utf-8")
            with config.open("a", encoding="utf-8") as file:
                file.write(f"auth:\n  htpasswd:\n    realm: test\n    path: {users}\n")
        self.program = Program("registry", ["docker-registry", "serve", config], folder).start()
        wait_until(lambda: not ports.free(self.port), "the registry")
        self.pushed = 0

    def push(self, name, config, files=None):
        """Returns the image's name with the registry's address."""
        self.pushed += 1
        layout = self.folder / f"layout-{self.pushed}"
        layers = [layer({}, busybox=self.busybox)] + ([layer(files)] if files else [])
        write_layout(layout, layers, {"Env": ["PATH=/usr/bin:/bin"], **config}, self.architecture)
        image = f"{self.address}/{name}"
        subprocess.run(["skopeo", "copy", "--quiet", "--dest-tls-verify=false", *self.credentials, f"oci:{layout}:image", f"docker://{image}"],
                       check=True, capture_output=True)
        return image

    def stop(self):
        self.program.stop()
