"""Pods of higher priority preempt others, on real devices."""

import json

import pytest
from manifests import pod
from mqtt_packets import messages_of

NODE = {"cpu": "1", "memory": "128Mi", "pods": "10"}


def priority_class(name, value, **more):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
            **more}


def big(name, priority, **spec):
    manifest = pod(name, priorityClassName=priority, **spec)
    manifest["spec"]["containers"][0]["resources"] = {"requests": {"memory": "100Mi"}}
    return manifest


@pytest.fixture
def small_fleet(fleet):
    fleet.start_gateway()
    fleet.start_agent("attic", capacity=NODE)
    fleet.wait_node("attic")
    fleet.apply(priority_class("low", 10), priority_class("high", 1000),
                priority_class("polite", 1000, preemptionPolicy="Never"))
    fleet.apply(big("tenant", "low"))
    fleet.wait_running("tenant")
    return fleet


def events_of(fleet, name):
    lists = [payload for topic, payload in fleet.observer.messages if topic == fleet.topic("events/default")]
    events = [event for payload in lists for event in messages_of(json.loads(payload))]
    return [str(event) for event in events if event["name"] == name]


def test_a_pod_of_higher_priority_preempts_another(small_fleet):
    fleet = small_fleet
    fleet.apply(big("alarm", "high"))
    fleet.wait_pod("alarm", lambda status: status.get("nominatedNodeName") == "attic")
    fleet.wait_running("alarm", node="attic")
    fleet.wait_gone("tenant")
    assert fleet.nodes_running("tenant") == []
    uid = fleet.get("pod", "alarm")["metadata"]["uid"]
    assert any(f"Preempted by pod {uid} on node attic" in event for event in events_of(fleet, "tenant"))


def test_a_nomination_survives_a_kill_of_the_gateway(fleet):
    """The victim stops slowly. Meanwhile the gateway is killed, and a new pod requests the same resources."""
    fleet.start_gateway()
    fleet.start_agent("attic", capacity=NODE)
    fleet.wait_node("attic")
    fleet.apply(priority_class("low", 10), priority_class("high", 1000))
    fleet.apply(big("slow", "low", command=("sh", "-c", "trap 'sleep 3; exit' TERM; while :; do sleep 0.1; done")))
    fleet.wait_running("slow")
    fleet.apply(big("alarm", "high"))
    fleet.wait_pod("alarm", lambda status: status.get("nominatedNodeName") == "attic")
    fleet.kill("berthd")
    fleet.restart("berthd")
    fleet.apply(big("newcomer", "low"))
    fleet.wait_running("alarm", node="attic")
    fleet.wait_gone("slow")
    assert fleet.nodes_running("newcomer") == []


def test_a_pod_that_may_not_preempt_stays_pending(small_fleet):
    small_fleet.apply(big("guest", "polite"))
    status = small_fleet.wait_pending("guest", "1 Insufficient memory")
    assert "not eligible due to preemptionPolicy=Never" in status["message"]
    assert small_fleet.nodes_running("tenant") == ["attic"]
