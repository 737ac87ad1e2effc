#!/usr/bin/python3
"""Traces that nobody recorded: sequences of operations in the form of trace.h, made from a seed.

    tests/bench/generated.py [--seed N] NAME >FILE.jsonl      NAME: mixed-5000, for example

A name is a shape and a number of nodes; SHAPES has all shapes, NAMES those that `tests/bench/run --generated` replays by default. The
same name and seed give the same bytes. Any number of nodes will do, and with few of them a trace is small: tests replay such.
"""

import argparse
import json
import random
import re
import sys

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DEVICE = "device.example.com/serial"
CLASS_COUNTS = (1, 8, 9, 64, 200, 1000)
MEASURE, DRAIN = {"op": "measure"}, {"op": "drain"}
MIB = 1 << 20


def node(number, cpu="4", memory="16Gi", zones=10, labels=None, images=(), taints=()):
    """A node of that number, in a zone that follows from it."""
    name = f"node-{number}"
    made = {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {HOST: name, ZONE: f"zone-{number % zones}", **(labels or {})}},
            "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}}}
    if taints:
        made["spec"] = {"taints": list(taints)}
    if images:
        made["status"]["images"] = [{"names": [name], "sizeBytes": size} for name, size in images]
    return made


def pod(name, cpu="100m", memory="64Mi", namespace="default", labels=None, image="app:1", **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
            "spec": {"containers": [{"name": "main", "image": image, "resources": {"requests": {"cpu": cpu, "memory": memory}}}], **spec}}


def comes(what):
    return {"op": {"Node": "node", "Pod": "pod", "StorageClass": "sc", "PersistentVolume": "pv", "PersistentVolumeClaim": "pvc"}[what["kind"]],
            "obj": what}


def changes(changed):
    return {"op": "upnode", "obj": changed}


def leaves(key):
    return {"op": "delete", "pod": key}


def selects(**labels):
    return {"matchLabels": labels}


def spread(app, key=ZONE, skew=5, unsatisfiable="DoNotSchedule"):
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": unsatisfiable, "labelSelector": selects(app=app)}]


def preferred(kind, app, key, weight=50):
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": selects(app=app)}}]}}


def required(kind, term):
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def pods_for(nodes, most=4000):
    """How many pods a trace has measured: enough to take some time, and no more than fit easily."""
    return min(most, 10 * nodes)


def mixed_node(rng, number, revision=0):
    cpu, memory = rng.choice((("2", "4Gi"), ("4", "8Gi"), ("4", "16Gi"), ("8", "32Gi"), ("16", "64Gi")))
    labels = {"disk": rng.choice(("flash", "disk")), "line": f"line-{number % 3}", "revision": str(revision)}
    tainted = number % 10 == 7
    taints = [{"key": "reserved", "value": "yes", "effect": "NoSchedule"}] if tainted else []
    return node(number, cpu, memory, zones=50, labels=labels, taints=taints)


def mixed_workload(rng, number):
    """What the pods of one workload have alike: arguments of pod()."""
    app = f"work-{number}"
    made = {"labels": {"app": app}, "cpu": rng.choice(("50m", "100m", "250m", "500m")), "memory": rng.choice(("32Mi", "128Mi", "256Mi"))}
    kind = number % 7
    if kind == 1:
        made["nodeSelector"] = {"disk": "flash"}
    elif kind == 2:
        made["topologySpreadConstraints"] = spread(app)
    elif kind == 3:
        made["affinity"] = preferred("podAntiAffinity", app, HOST)
    elif kind == 4:
        made["affinity"] = preferred("podAffinity", f"work-{rng.randrange(number)}", ZONE)
    elif kind == 5:
        made["tolerations"] = [{"key": "reserved", "operator": "Exists"}]
    elif kind == 6:
        made["topologySpreadConstraints"] = spread(app, HOST, 1, "ScheduleAnyway")
    return made


def mixed(rng, nodes):
    """A fleet as it lives: 200 workloads of unequal size, pods that come and go, nodes that change."""
    workloads = [mixed_workload(rng, number) for number in range(200)]
    weights = [1 / (rank + 1) for rank in range(len(workloads))]
    there = []  # keys of the pods that came and did not leave
    count = 0

    def arrival():
        nonlocal count
        of = rng.choices(workloads, weights)[0]
        name = f"{of['labels']['app']}-{count}"
        count += 1
        there.append(f"default/{name}")
        return comes(pod(name, **of))

    for number in range(nodes):
        yield comes(mixed_node(rng, number))
    for _ in range(pods_for(nodes)):
        yield arrival()
    yield DRAIN
    yield MEASURE
    for step in range(pods_for(nodes)):
        yield arrival()
        if rng.random() < 0.2:
            yield leaves(there.pop(rng.randrange(len(there))))
        if rng.random() < 0.05:
            yield changes(mixed_node(rng, rng.randrange(nodes), step + 1))
        if rng.random() < 0.1:
            yield DRAIN
    yield DRAIN


def daemonset(rng, nodes):
    """One pod for each node, by its name, as a DaemonSet's controller makes them; nodes join with theirs later too."""
    joined = nodes - nodes // 10
    for number in range(joined):
        yield comes(node(number))
    yield DRAIN
    yield MEASURE
    for agent in range(2):
        for number in rng.sample(range(nodes), nodes):
            if number >= joined and agent == 0:
                yield comes(node(number))
            fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"node-{number}"]}]}
            affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [fields]}}}
            yield comes(pod(f"agent-{agent}-{number}", labels={"app": f"agent-{agent}"}, affinity=affinity))
    yield DRAIN


def namespaces(rng, nodes):
    """Required anti-affinity between pods of all namespaces."""
    term = {"topologyKey": HOST, "labelSelector": selects(kind="exclusive"), "namespaceSelector": {}}
    for number in range(nodes):
        yield comes(node(number))
    measured = min(2000, nodes // 2)
    for number in range(2 * measured // 3 + measured):
        if number == 2 * measured // 3:
            yield DRAIN
            yield MEASURE
        yield comes(pod(f"alone-{number}", namespace=f"team-{rng.randrange(10)}", labels={"kind": "exclusive"},
                        affinity=required("podAntiAffinity", term)))
    yield DRAIN


def images(rng, nodes):
    """Every tenth pod, a node has pulled an image, or dropped one."""
    def holding(number, held):
        return node(number, images=[(f"registry.example.com/app-{image}:1", (20 + 10 * image) * MIB) for image in sorted(held)])

    held = [set(rng.sample(range(20), 3)) for _ in range(nodes)]
    for number in range(nodes):
        yield comes(holding(number, held[number]))
    yield MEASURE
    for number in range(pods_for(nodes)):
        if number % 10 == 9:
            which = rng.randrange(nodes)
            held[which] ^= {rng.randrange(20)}
            yield changes(holding(which, held[which]))
            yield DRAIN
        yield comes(pod(f"pod-{number}", image=f"registry.example.com/app-{rng.randrange(4)}:1"))
    yield DRAIN


def storm(rng, nodes):
    """A full fleet, twice as many pods that wait as it has nodes, and pods that leave one by one."""
    for number in range(nodes):
        yield comes(node(number))
    running = [(f"run-{number}-{slot}", f"node-{number}") for number in range(nodes) for slot in range(4)]
    for name, host in running:
        yield {"op": "place", "node": host, "obj": pod(name, cpu="1")}
    for number in range(2 * nodes):
        yield comes(pod(f"waits-{number}", cpu="1", labels={"app": f"waits-{number % 20}"}))
    yield DRAIN
    yield MEASURE
    for name, _ in rng.sample(running, min(20, nodes)):
        yield leaves(f"default/{name}")
        yield DRAIN


def edge_volumes(nodes):
    yield comes({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
                 "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"})
    for number in range(nodes):
        for disk, size in enumerate(("1Gi", "2Gi", "4Gi")):
            here = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [f"node-{number}"]}]}
            yield comes({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"disk-{number}-{disk}"},
                         "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                                  "local": {"path": f"/disks/{disk}"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}}}})


def edge(rng, nodes):
    """Devices with three local volumes each; pods for one device or one site, half of them with a claim."""
    sites = max(nodes // 10, 1)
    yield from edge_volumes(nodes)
    pods = 2 * nodes
    for number in range(0, pods, 2):
        yield comes({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"data-{number}", "namespace": "default"},
                     "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                              "resources": {"requests": {"storage": rng.choice(("1Gi", "2Gi", "3Gi"))}}}})
    for number in range(nodes):
        yield comes(node(number, memory="2Gi", labels={"site": f"site-{number % sites}", DEVICE: f"serial-{number}"}))
    yield DRAIN
    yield MEASURE
    for number in range(pods):
        spec = {"nodeSelector": {DEVICE: f"serial-{rng.randrange(nodes)}"} if rng.random() < 0.5 else {"site": f"site-{rng.randrange(sites)}"}}
        if number % 2 == 0:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{number}"}}]
        yield comes(pod(f"pod-{number}", cpu="200m", memory="128Mi", labels={"app": f"pod-{number % 7}"}, **spec))
        if rng.random() < 0.2:
            yield leaves(f"default/pod-{rng.randrange(number + 1)}")
        if rng.random() < 0.3:
            yield DRAIN
    yield DRAIN


def labelled(rng, nodes):
    """Each pod for one device, by a label that no other has."""
    for number in range(nodes):
        yield comes(node(number, labels={DEVICE: f"serial-{number}"}))
    yield MEASURE
    for number in range(pods_for(nodes)):
        yield comes(pod(f"pod-{number}", nodeSelector={DEVICE: f"serial-{rng.randrange(nodes)}"}))
    yield DRAIN


def unlike(rng, nodes):
    """One class of pods, and no two nodes of equal size."""
    sizes = rng.sample(range(2000, 2000 + 4 * nodes), nodes)
    for number, milli in enumerate(sizes):
        yield comes(node(number, cpu=f"{milli}m", memory=f"{4096 + 7 * number}Mi"))
    yield MEASURE
    for number in range(pods_for(nodes)):
        yield comes(pod(f"pod-{number}"))
    yield DRAIN


def classes(count, extra):
    """So many classes of pods in turn; the first of each come before the measurement."""
    def of_class(number):
        app = f"class-{number}"
        made = {"labels": {"app": app}, "cpu": f"{50 + number}m" if extra == "" else "50m"}
        if extra == "spread":
            made["topologySpreadConstraints"] = spread(app)
        if extra == "affinity":
            made["affinity"] = preferred("podAffinity", app, ZONE)
        return made

    def shape(_rng, nodes):
        for number in range(nodes):
            yield comes(node(number, cpu="8"))
        measured = pods_for(nodes, 20_000)  # one class alone takes 2 us each
        first = min(count, measured)
        for number in range(first + measured):
            if number == first:
                yield DRAIN
                yield MEASURE
            yield comes(pod(f"pod-{number}", **of_class(number % count)))
        yield DRAIN

    return shape


SHAPES = {"mixed": mixed, "daemonset": daemonset, "namespaces": namespaces, "images": images, "storm": storm, "edge": edge,
          "labelled": labelled, "unlike": unlike,
          **{f"classes{count}{extra}": classes(count, extra) for extra in ("", "spread", "affinity") for count in CLASS_COUNTS}}
NAMES = ["mixed-1000", "mixed-5000", "mixed-20000", "edge-1000", "storm-1000",
         *(f"{shape}-5000" for shape in SHAPES if shape not in ("mixed", "edge", "storm"))]


def parse(name):
    """(shape, nodes) of a name; ValueError says what is wrong with it."""
    shape, _, nodes = name.partition("-")
    if shape not in SHAPES:
        raise ValueError(f"{name}: no such shape; there are {', '.join(SHAPES)}")
    if not re.fullmatch("[0-9]{1,6}", nodes) or not 10 <= int(nodes) <= 100_000:
        raise ValueError(f"{name}: expected {shape}-NODES with 10 to 100000 nodes, such as {shape}-1000")
    return shape, int(nodes)


def lines(name, seed):
    """The trace, line by line."""
    shape, nodes = parse(name)
    for operation in SHAPES[shape](random.Random(f"{name} {seed}"), nodes):
        yield json.dumps(operation, separators=(",", ":")) + "\n"


def write(name, seed, path):
    """Writes the trace into a file, which is there in full or not at all."""
    parse(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    with unfinished.open("w", encoding="utf-8") as file:
        file.writelines(lines(name, seed))
    unfinished.replace(path)


def main():
    parser = argparse.ArgumentParser(description="Prints a trace of a shape and a number of nodes.")
    parser.add_argument("name", help="SHAPE-NODES; shapes: " + ", ".join(SHAPES))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    try:
        sys.stdout.writelines(lines(given.name, given.seed))
    except ValueError as wrong:
        parser.error(str(wrong))
    return 0


if __name__ == "__main__":
    sys.exit(main())
