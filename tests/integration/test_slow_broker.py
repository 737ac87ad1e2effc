"""A broker that does not keep up with the gateway: what it is to retain waits at the gateway, and none of it is lost."""

import json

from manifests import pod
from test_status_pages import metric
from waiting import wait_until

PODS = 20_000  # twice what the gateway's link holds of messages that are not acknowledged


def wait_all_shown(fleet):
    """Until the broker has the gateway's mirror and a status of each pod."""
    fleet.observer.wait(lambda: is_all_shown(fleet, fleet.observer.latest), f"mirrors and statuses of {PODS} pods", 120)


def is_all_shown(fleet, latest):
    if len(latest) < 2 * PODS:  # this is asked at each message
        return False
    names = [f"default/web-{number}" for number in range(PODS)]
    return all(latest.get(fleet.topic(f"status/pods/{name}")) for name in names) and all(
        "uid" in json.loads(latest.get(fleet.topic(f"desired/pods/{name}"), b"{}")).get("metadata", {}) for name in names)


def test_twenty_thousand_pods_applied_at_once_all_have_their_status_retained_at_the_broker(fleet, broker, proxy, connect,
                                                                                          tmp_path):
    config = tmp_path / "berthd.yaml"
    # The broker is silent for as long as it takes.
    config.write_text(f"broker: {{host: 127.0.0.1, port: {proxy.port}, keepalive_seconds: 3600}}\n", encoding="utf-8")
    gateway = fleet.start_gateway(port=proxy.port, extra=["--config", config])
    wait_until(lambda: metric(fleet, "berth_ready") == 1, "a gateway that is in step with the broker")
    proxy.partition(*proxy.clients(), "up")  # it gets nothing, and acknowledges nothing
    operator = connect(fleet.port, "operator")
    for number in range(PODS):
        operator.paho.publish(fleet.topic(f"desired/pods/default/web-{number}"), json.dumps(pod(f"web-{number}")), 0, True)
    wait_until(lambda: metric(fleet, "berth_objects", kind="Pod") == PODS, "a gateway that knows all pods", 120)
    proxy.heal()
    wait_all_shown(fleet)

    fleet.forget_seen()
    broker.kill()
    broker.start()  # it retains nothing
    wait_all_shown(fleet)
    assert "cannot keep up" not in gateway.output()
