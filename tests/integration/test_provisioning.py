"""Volumes that the device makes itself: a StorageClass with the provisioner berth/local (rules N11, P18)."""

import json

import pytest
from manifests import claim, pod, with_claim
from test_schema import record
from waiting import wait_until


def local_class(name="fast", policy="Delete", mode="WaitForFirstConsumer"):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": "berth/local", "volumeBindingMode": mode, "reclaimPolicy": policy}


def start_with_pools(fleet, tmp_path, node="n1", capacity="1Gi", classes=("fast",)):
    """Starts an agent with a pool of each class; returns the root of the first."""
    pools = []
    for name in classes:
        root = tmp_path / f"pool-{node}-{name}"
        root.mkdir(exist_ok=True)
        pools.append({"class": name, "root": str(root), "capacity": capacity})
    config = tmp_path / f"{node}.yaml"
    config.write_text(json.dumps({"volume_pools": pools}), encoding="utf-8")
    fleet.start_agent(node, extra=["--config", config])
    fleet.wait_node(node)
    return tmp_path / f"pool-{node}-{classes[0]}"


def writing_pod(name, claim_name):
    script = 'echo kept >> "$BERTH_VOLUME_DATA/file"; exec sleep 1000'
    manifest = with_claim(pod(name, command=("sh", "-c", script)), claim_name)
    manifest["spec"]["volumes"][0]["name"] = "data"
    manifest["spec"]["containers"][0]["volumeMounts"][0]["name"] = "data"
    return manifest


def volume_of(fleet, name):
    """The PersistentVolume of a claim, once it is bound."""
    wait_until(lambda: fleet.get("persistentvolumeclaim", name)["spec"].get("volumeName"), f"the volume of claim {name}")
    return fleet.get("persistentvolumeclaim", name)["spec"]["volumeName"]


def phase_of(fleet, volume):
    found = fleet.get("persistentvolume", volume)
    return found and found["status"]["phase"]


def test_a_device_makes_the_volume_of_a_claim_and_removes_it_when_the_claim_is_deleted(fleet, tmp_path):
    assert fleet.observer  # subscribes before anything is sent
    fleet.start_gateway()
    root = start_with_pools(fleet, tmp_path)
    fleet.apply(local_class(), claim("data", storage_class="fast"), writing_pod("web", "data"))
    fleet.wait_running("web", node="n1")
    name = volume_of(fleet, "data")
    volume = fleet.get("persistentvolume", name)
    assert name == "pvc-" + fleet.get("persistentvolumeclaim", "data")["metadata"]["uid"]
    assert volume["spec"]["local"]["path"] == str(root / name)
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert volume["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"] == "berth/local"
    assert volume["status"]["phase"] == "Bound"
    wait_until(lambda: (root / name / "file").exists(), "what the pod writes")
    assert (root / name).stat().st_mode & 0o777 == 0o700

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("not the pod's")
    (root / name / "link").symlink_to(outside)
    deep = root / name
    for _ in range(60):
        deep = deep / "d"
        deep.mkdir()
    fleet.delete("pod", "web")
    fleet.wait_gone("web")
    assert (root / name / "file").exists()
    fleet.delete("persistentvolumeclaim", "data")
    wait_until(lambda: fleet.get("persistentvolume", name) is None, "the removal of the volume")
    assert not (root / name).exists() and (outside / "file").exists()
    record(fleet, "provisioning", "nodes/#", "gateways/#", "desired/persistentvolumes/#", "desired/persistentvolumeclaims/#")


def release_a_retained_volume(fleet, tmp_path):
    """The root of the pool, and the volume in it that a pod has written to and whose claim is gone."""
    fleet.start_gateway()
    root = start_with_pools(fleet, tmp_path)
    fleet.apply(local_class(policy="Retain"), claim("data", storage_class="fast"), writing_pod("web", "data"))
    fleet.wait_running("web", node="n1")
    name = volume_of(fleet, "data")
    wait_until(lambda: (root / name / "file").exists(), "what the pod writes")
    fleet.delete("pod", "web")
    fleet.wait_gone("web")
    fleet.delete("persistentvolumeclaim", "data")
    wait_until(lambda: phase_of(fleet, name) == "Released", "the release of the volume")
    return root, name


def test_retain_keeps_the_volume_and_its_data(fleet, tmp_path):
    root, name = release_a_retained_volume(fleet, tmp_path)
    fleet.kill("berthd")
    fleet.restart("berthd")
    fleet.wait_node("n1")
    assert phase_of(fleet, name) == "Released" and (root / name / "file").exists()


def test_a_claim_that_no_pool_has_room_for_waits_until_one_has(fleet, tmp_path):
    fleet.start_gateway()
    root = start_with_pools(fleet, tmp_path, capacity="100Mi")
    fleet.apply(local_class(), claim("first", storage_class="fast"), writing_pod("one", "first"))
    fleet.wait_running("one", node="n1")
    fleet.apply(claim("second", storage_class="fast"), writing_pod("two", "second"))
    fleet.wait_pending("two", "1 node(s) did not have enough free storage")
    fleet.delete("pod", "one")
    fleet.wait_gone("one")
    fleet.delete("persistentvolumeclaim", "first")
    fleet.wait_running("two", node="n1")
    wait_until(lambda: len(list(root.iterdir())) == 1, "the removal of the first volume")


def test_a_class_of_devices_with_immediate_binding_is_refused(fleet, tmp_path):
    fleet.start_gateway()
    refused = fleet.apply(local_class(mode="Immediate"), check=False)
    assert refused.returncode == 2
    assert "volumeBindingMode: must be WaitForFirstConsumer for provisioner berth/local" in refused.stderr + refused.stdout


def test_an_agent_does_not_start_with_a_pool_whose_root_is_missing(fleet, tmp_path):
    config = tmp_path / "n1.yaml"
    config.write_text(json.dumps({"volume_pools": [
        {"class": "fast", "root": str(tmp_path / "missing"), "capacity": "1Gi"}]}), encoding="utf-8")
    agent = fleet.start_agent("n1", extra=["--config", config])
    wait_until(lambda: not agent.alive(), "the exit of the agent")
    assert f"volume_pools[0].root: {tmp_path / 'missing'}: No such file or directory" in agent.output()


def test_a_pool_without_its_disk_makes_no_volume_and_removes_none(fleet, tmp_path, disk):
    disk.unmount()
    fleet.start_gateway()
    config = tmp_path / "n1.yaml"
    config.write_text(json.dumps({"volume_pools": [
        {"class": "fast", "root": str(disk.folder), "capacity": "1Gi", "mount_point": True}]}), encoding="utf-8")
    agent = fleet.start_agent("n1", extra=["--config", config])
    fleet.wait_node("n1")
    fleet.apply(local_class(), claim("data", storage_class="fast"), writing_pod("web", "data"))
    fleet.wait_pending("web", f"pool {disk.folder}: nothing is mounted there")
    assert list(disk.folder.iterdir()) == []
    disk.mount()
    fleet.wait_running("web", node="n1")  # the device says that it is (D6)
    name = volume_of(fleet, "data")
    wait_until(lambda: (disk.folder / name / "file").exists(), "what the pod writes")
    fleet.delete("pod", "web")
    fleet.wait_gone("web")
    disk.unmount()
    fleet.delete("persistentvolumeclaim", "data")
    wait_until(lambda: "volume not removed yet" in agent.output(), "the removal that cannot be")
    assert phase_of(fleet, name) == "Released" and (disk.content / name / "file").exists()
    disk.mount()
    wait_until(lambda: phase_of(fleet, name) is None, "the removal of the volume")
    assert list(disk.content.iterdir()) == []


@pytest.mark.parametrize("victim", ["berthd", "n1"])
def test_kills_leave_no_directory_without_a_volume_and_no_volume_without_a_directory(fleet, tmp_path, victim):
    fleet.start_gateway()
    root = start_with_pools(fleet, tmp_path)
    fleet.apply(local_class())
    for i in range(6):
        fleet.apply(claim(f"c{i}", storage_class="fast", size="8Mi"), writing_pod(f"p{i}", f"c{i}"))
        fleet.kill(victim)
        fleet.restart(victim)
    for i in range(6):
        fleet.wait_running(f"p{i}", node="n1")
    volumes = {volume_of(fleet, f"c{i}") for i in range(6)}
    assert {each.name for each in root.iterdir()} == volumes
    for i in range(6):
        fleet.delete("pod", f"p{i}")
        fleet.wait_gone(f"p{i}")
        fleet.delete("persistentvolumeclaim", f"c{i}")
        fleet.kill(victim)
        fleet.restart(victim)
    fleet.wait_node("n1")
    wait_until(lambda: not any(fleet.get("persistentvolume", name) for name in volumes), "the removal of all volumes")
    assert list(root.iterdir()) == []


def test_what_no_record_explains_is_left_alone_and_no_volume_is_made_in_its_place(fleet, tmp_path):
    fleet.start_gateway()
    root = tmp_path / "pool-n1-fast"
    root.mkdir()
    (root / "old").mkdir()
    fleet.apply(local_class(), claim("data", storage_class="fast"))
    uid = fleet.get("persistentvolumeclaim", "data")["metadata"]["uid"]
    (root / f"pvc-{uid}").mkdir()
    (root / f"pvc-{uid}" / "precious").write_text("data")
    start_with_pools(fleet, tmp_path)
    assert "this device has no record of what lies in its pool" in fleet.programs["n1"].output()
    fleet.apply(writing_pod("web", "data"))
    fleet.wait_pending("web", "is there already and not an empty directory")
    wait_until(lambda: "volume not deleted" in fleet.programs["n1"].output(), "the request to delete the unused volume")
    assert (root / f"pvc-{uid}" / "precious").exists() and (root / "old").exists()


@pytest.mark.parametrize("decision", ["adopt", "delete"])
def test_a_used_directory_whose_volume_was_lost_is_shown_until_the_operator_keeps_or_removes_it(fleet, tmp_path, decision):
    root, name = release_a_retained_volume(fleet, tmp_path)
    fleet.delete("persistentvolume", name)
    for program in ("n1", "berthd"):
        fleet.kill(program)
        fleet.restart(program)
    fleet.wait_node("n1")
    wait_until(lambda: phase_of(fleet, name) == "Orphan", "the directory that no volume names")
    shown = fleet.ctl("get", "pv").stdout
    assert name in shown and "Orphan" in shown and "default/data" in shown
    conditions = fleet.get("node", "n1")["status"]["conditions"]
    assert any(each["type"] == "OrphanVolumes" and str(root / name) in each["message"] for each in conditions)
    if decision == "adopt":
        assert "adopted, Released" in fleet.ctl("adopt", "pv", name, "--node", "n1").stdout
        assert phase_of(fleet, name) == "Released" and (root / name / "file").exists()
    else:
        fleet.delete("persistentvolume", name)
        wait_until(lambda: not (root / name).exists(), "the removal of the directory")
        wait_until(lambda: fleet.get("persistentvolume", name) is None, "the end of the volume")
