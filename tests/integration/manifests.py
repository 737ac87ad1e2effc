"""Kubernetes-shaped manifests as plain dictionaries, which a test may modify."""


def pod(name, command=("sleep", "1000"), cpu="100m", memory="16Mi", namespace="default", labels=None, **spec):
    """A pod with one container. Further members of the spec are given by their Kubernetes names: nodeSelector={...}."""
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    container = {"name": "main", "command": list(command), "resources": resources}
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def workload(kind, name, replicas=None, version="1", command=("sleep", "1000")):
    """A Deployment, Job ... whose pods have the labels app=NAME and version=VERSION."""
    template = pod(name, command=command, labels={"app": name, "version": version})
    del template["metadata"]["name"], template["metadata"]["namespace"], template["apiVersion"], template["kind"]
    spec = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": {"app": name}}
    if replicas is not None:
        spec["replicas"] = replicas
    if kind == "StatefulSet":
        spec["serviceName"] = name
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def toleration(key, value=None, effect="NoSchedule"):
    base = {"key": key, "effect": effect}
    return {**base, "operator": "Equal", "value": value} if value is not None else {**base, "operator": "Exists"}


def claim(name, size="64Mi", storage_class="local", namespace="default"):
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
            "resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
            "spec": spec}


def with_claim(manifest, claim_name, mount="/data"):
    """Mounts a claim in the pod's container; modifies the manifest and returns it."""
    manifest["spec"].setdefault("volumes", []).append(
        {"name": claim_name, "persistentVolumeClaim": {"claimName": claim_name}})
    manifest["spec"]["containers"][0].setdefault("volumeMounts", []).append({"name": claim_name, "mountPath": mount})
    return manifest


def counted_pod(name, marks, **more):
    """A pod that appends a line to the file marks/<name> each time it starts, and then sleeps. It holds a lock while it
    runs, so that two instances running at the same time are always detected."""
    script = f"exec 9> {marks}/{name}.lock; flock -n 9 || echo twice >> {marks}/{name}; echo started >> {marks}/{name}"
    return pod(name, command=("sh", "-c", script + "; exec sleep 1000"), **more)


def starts(name, marks):
    """How often a counted pod was started, on any node. Fails if two instances ever ran at the same time (S4)."""
    path = marks / name
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    assert "twice" not in written, f"S4: two instances of pod {name} ran at the same time"
    return written.count("started")


LOCAL_CLASS = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
               "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
