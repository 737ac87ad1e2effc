"""berthd is killed and started again while berthctl waits for an answer: the request was lost, or only its answer. What may
be sent again succeeds, and is done once; what may not be is not sent again."""

import json
import threading

import pytest
from manifests import LOCAL_CLASS, claim, pod
from mqtt_proxy import message


class Asked:
    """A command of berthctl under way."""

    def __init__(self, fleet, *arguments):
        self.done = None
        self.thread = threading.Thread(target=lambda: self.run(fleet, arguments))
        self.thread.start()

    def run(self, fleet, arguments):
        self.done = fleet.ctl(*arguments, check=False)

    def result(self):
        self.thread.join()
        return self.done


class Restarts:
    def __init__(self, fleet, proxy, lost):
        self.fleet, self.proxy, self.lost = fleet, proxy, lost
        fleet.start_gateway(port=proxy.port)
        fleet.apply(LOCAL_CLASS)  # it serves

    def carried(self, op):
        return message("down", self.fleet.topic("gateways/gw/api"), op=op)

    def during(self, op, *arguments):
        """Runs berthctl; its first request of this op, or the answer to it, is lost together with berthd."""
        answer = message("up", self.fleet.topic("clients/#"), payload=lambda said: "result" in said)
        rule = self.proxy.hold(self.carried(op) if self.lost == "request" else answer, limit=1)
        asked = Asked(self.fleet, *arguments)
        rule.wait()
        self.fleet.kill("berthd")
        rule.end()
        self.fleet.restart("berthd")
        return asked.result()

    def write(self, manifest):
        path = self.fleet.folder / "asked.json"
        path.write_text(json.dumps(manifest), encoding="utf-8")
        return path

    def names(self):
        listed = json.loads(self.fleet.ctl("get", "pods", "-o", "json").stdout)
        return [item["metadata"]["name"] for item in listed["items"]]


@pytest.fixture(params=["request", "answer"])
def restarts(fleet, proxy, request):
    return Restarts(fleet, proxy, request.param)


def uid_of(request):
    return request.get("object", {}).get("metadata", {}).get("uid")


def test_an_apply_succeeds(restarts):
    done = restarts.during("apply", "apply", "-f", restarts.write(pod("web")))
    assert done.returncode == 0, done.stderr
    assert restarts.names() == ["web"]


@pytest.mark.parametrize("kind, manifest", [("pod", pod("web")), ("pvc", claim("web"))], ids=["pod", "claim"])
def test_a_delete_succeeds(restarts, kind, manifest):
    restarts.fleet.apply(manifest)
    done = restarts.during("delete", "delete", kind, "web")
    assert done.returncode == 0 and "/web delet" in done.stdout, done.stderr
    assert restarts.fleet.get(kind, "web") is None
    assert restarts.proxy.count(restarts.carried("delete")) == (2 if restarts.lost == "request" else 1)


def test_a_create_of_a_generated_name_makes_one_object(restarts):
    manifest = pod("web")
    del manifest["metadata"]["name"]
    manifest["metadata"]["generateName"] = "job-"
    done = restarts.during("apply", "create", "-f", restarts.write(manifest))
    assert done.returncode == 0 and " created" in done.stdout, done.stderr
    assert len(restarts.names()) == 1


def test_a_pod_is_recreated_once(restarts):
    restarts.fleet.apply(pod("web"))
    before = restarts.fleet.get("pod", "web")["metadata"]["uid"]
    done = restarts.during("apply", "apply", "--recreate", "-f", restarts.write(pod("web")))
    assert done.returncode == 0, done.stderr
    after = restarts.fleet.get("pod", "web")["metadata"]["uid"]
    again = message("down", restarts.fleet.topic("gateways/gw/api"), lambda said: uid_of(said) == after)
    assert after != before and restarts.proxy.count(again) == 2


def test_a_node_is_forgotten_once_at_most(restarts):
    restarts.fleet.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    done = restarts.during("forget", "--timeout", "3", "forget", "node", "n1")
    assert done.returncode == 4 and "It is not known whether it was done" in done.stderr, done.stderr
    assert restarts.proxy.count(restarts.carried("forget")) == 1
