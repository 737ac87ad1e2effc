"""A broker that does not keep up with the gateway: retained publishes wait in the gateway, and none is lost."""

import json

from manifests import pod
from test_status_pages import metric
from waiting import wait_until

PODS = 20_000  # twice the number of unacknowledged messages that the gateway's client allows


def wait_all_published(fleet):
    """Waits until the broker retains the mirrored manifest and a status of each pod."""
    fleet.observer.wait(lambda: is_all_published(fleet, fleet.observer.latest), f"mirrors and statuses of {PODS} pods", 120)


def is_all_published(fleet, latest):
    if len(latest) < 2 * PODS:  # evaluated at each message
        return False
    names = [f"default/web-{number}" for number in range(PODS)]
    return all(latest.get(fleet.topic(f"status/pods/{name}")) for name in names) and all(
        "uid" in json.loads(latest.get(fleet.topic(f"desired/pods/{name}"), b"{}")).get("metadata", {}) for name in names)


def test_twenty_thousand_pods_applied_at_once_all_have_their_status_retained_at_the_broker(fleet, broker, proxy, connect,
                                                                                          tmp_path):
    config = tmp_path / "berthd.yaml"
    # No keepalive timeout while the link is partitioned.
    config.write_text(f"broker: {{host: 127.0.0.1, port: {proxy.port}, keepalive_seconds: 3600}}\n", encoding="utf-8")
    gateway = fleet.start_gateway(port=proxy.port, extra=["--config", config])
    wait_until(lambda: metric(fleet, "berth_ready") == 1, "the gateway to become ready")
    proxy.partition(*proxy.clients(), "up")  # the broker receives and acknowledges nothing
    operator = connect(fleet.port, "operator")
    for number in range(PODS):
        operator.paho.publish(fleet.topic(f"desired/pods/default/web-{number}"), json.dumps(pod(f"web-{number}")), 0, True)
    wait_until(lambda: metric(fleet, "berth_objects", kind="Pod") == PODS, "the gateway to know all pods", 120)
    proxy.heal()
    wait_all_published(fleet)

    fleet.forget_seen()
    broker.kill()
    broker.start()  # it retains nothing
    wait_all_published(fleet)
    assert "cannot keep up" not in gateway.output()
