"""The proxy, between paho clients and a real broker."""

import socket

import pytest
from mqtt_packets import parse, topic_matches, variable_length
from mqtt_proxy import message


@pytest.fixture
def pair(proxy, connect):
    """(publisher, subscriber to t/#), both through the proxy."""
    subscriber = connect(proxy.port, "sub")
    subscriber.subscribe("t/#")
    return connect(proxy.port, "pub"), subscriber


def payloads(client):
    return [payload.decode() for _, payload in client.of("t/#")]


def test_messages_pass_untouched_without_a_rule(proxy, pair):
    publisher, subscriber = pair
    for qos in (0, 1, 2):
        publisher.publish("t/a", {"qos": qos}, qos=qos)
    assert [v["qos"] for v in subscriber.wait_message("t/a", count=3)] == [0, 1, 2]
    assert proxy.clients() == ["pub", "sub"]


def test_a_large_payload_passes_in_pieces(pair):
    publisher, subscriber = pair
    publisher.publish("t/big", "x" * 300_000)
    assert len(subscriber.wait_message("t/big")[0]) == 300_000


def test_a_held_message_arrives_only_after_release_and_others_overtake_it(proxy, pair):
    publisher, subscriber = pair
    rule = proxy.hold(message("down", "t/+", kind="slow"))
    publisher.publish("t/a", {"kind": "slow"})
    rule.wait(1)
    publisher.publish("t/a", {"kind": "fast"})
    subscriber.wait_message("t/a", lambda v: v["kind"] == "fast")
    assert len(payloads(subscriber)) == 1
    rule.release()
    subscriber.wait_message("t/a", lambda v: v["kind"] == "slow")
    publisher.publish("t/a", {"kind": "slow", "n": 2})  # the rule has ended
    subscriber.wait_message("t/a", lambda v: v.get("n") == 2)


def test_held_messages_can_be_released_in_part(proxy, pair):
    publisher, subscriber = pair
    rule = proxy.hold(message("up", "t/a"))
    for number in range(3):
        publisher.publish("t/a", {"n": number})
    rule.wait(3)
    rule.release(2)
    assert [v["n"] for v in subscriber.wait_message("t/a", count=2)] == [0, 1]
    rule.release()
    subscriber.wait_message("t/a", lambda v: v["n"] == 2)


def test_a_dropped_message_is_acknowledged_and_never_arrives(proxy, pair):
    publisher, subscriber = pair
    rule = proxy.drop(message("up", "t/a", payload=lambda v: v["n"] < 2))
    for number in range(3):
        publisher.publish("t/a", {"n": number})  # returns once acknowledged
    subscriber.wait_message("t/a", lambda v: v["n"] == 2)
    assert payloads(subscriber) == ['{"n": 2}'] and len(rule.touched) == 2


def test_dropping_towards_a_client_does_not_exhaust_its_window(proxy, pair):
    publisher, subscriber = pair
    proxy.drop(message("down", "t/a", client="sub"), limit=150)  # more than max_inflight_messages
    for number in range(151):
        publisher.publish("t/a", {"n": number})
    assert subscriber.wait_message("t/a") == [{"n": 150}]


def test_a_duplicated_message_arrives_with_the_requested_number_of_copies(proxy, pair):
    publisher, subscriber = pair
    proxy.duplicate(message("down", "t/a"), copies=2, limit=1)
    publisher.publish("t/a", "one")
    publisher.publish("t/a", "two")
    subscriber.wait_message("t/a", lambda v: v == "two")
    assert payloads(subscriber) == ["one", "one", "one", "two"]


def test_a_delayed_message_is_overtaken(proxy, pair):
    publisher, subscriber = pair
    proxy.delay(message("up", "t/a"), 0.3, limit=1)
    publisher.publish("t/a", "late")
    publisher.publish("t/a", "early")
    subscriber.wait_message("t/a", count=2)
    assert payloads(subscriber) == ["early", "late"]


def test_a_held_message_survives_the_loss_of_its_connection(proxy, pair):
    publisher, subscriber = pair
    rule = proxy.hold(message("down", "t/a", client="sub"))
    publisher.publish("t/a", "held")
    rule.wait(1)
    proxy.cut("sub")
    subscriber.wait(lambda: not subscriber.connected, "the cut")
    rule.release()  # delivered on the client's next connection
    subscriber.wait_message("t/a", lambda v: v == "held")


def test_a_cut_fires_the_will_and_the_client_comes_back(proxy, broker, connect):
    watcher = connect(broker.port, "watcher")
    watcher.subscribe("t/#")
    connect(proxy.port, "dying", will=("t/will", "gone", 1, False))
    proxy.cut("dying")
    watcher.wait_message("t/will")
    proxy.wait_until(lambda: "dying" in proxy.clients(), "the reconnect")


def test_a_refusing_proxy_accepts_no_connection_until_it_stops_refusing(proxy, connect):
    client = connect(proxy.port, "one")
    proxy.refuse()
    proxy.cut()
    client.wait(lambda: not client.connected, "the cut")
    with socket.create_connection(("127.0.0.1", proxy.port)) as stranger:
        assert stranger.recv(1) == b""
    proxy.refuse(False)
    client.wait(lambda: client.connected, "the reconnect")


def test_a_one_way_partition_stops_one_direction_and_heals(proxy, pair):
    publisher, subscriber = pair
    proxy.partition("sub", "down")
    publisher.publish("t/a", "held back")
    assert payloads(subscriber) == []
    subscriber.publish("u/a", qos=0)  # the other direction works
    proxy.wait_seen(message("up", "u/a"))
    assert payloads(subscriber) == []
    proxy.heal()
    subscriber.wait_message("t/a")


def test_a_partition_hides_the_end_of_a_connection(proxy, broker, connect):
    watcher = connect(broker.port, "watcher")
    watcher.subscribe("t/#")
    silent = connect(proxy.port, "silent", will=("t/will", "gone", 1, False))
    proxy.partition("silent")
    silent.vanish()
    watcher.publish("t/mark", "1")
    watcher.wait_message("t/mark")
    assert watcher.of("t/will") == []
    proxy.heal()
    watcher.wait_message("t/will")


def test_a_failing_predicate_fails_the_test_and_not_the_message(broker, connect):
    from mqtt_proxy import MqttProxy

    proxy = MqttProxy(broker.port)
    proxy.drop(message("up", payload=lambda v: v["missing"]))
    client = connect(proxy.port, "one")
    client.subscribe("t/a")
    client.publish("t/a", "x")
    client.wait_message("t/a")
    with pytest.raises(AssertionError, match="predicate"):
        proxy.close()


def test_topic_filters():
    assert topic_matches("a/+/c", "a/b/c") and topic_matches("a/#", "a/b/c") and topic_matches("a/#", "a")
    assert not topic_matches("a/+", "a/b/c") and not topic_matches("a/b", "a") and not topic_matches("a", "a/b")


def test_lowering_an_mqtt_5_message_to_qos_0_removes_only_its_packet_identifier():
    properties = bytes([2, 0, 0, 0, 9])  # message expiry 9 s
    body = b"\0\1t" + b"\0\7" + bytes([len(properties)]) + properties + b"{}"
    packet = parse(bytes([0x33]) + variable_length(len(body)) + body, "up", "c", 5)
    assert (packet.topic, packet.payload, packet.qos, packet.retain, packet.packet_id) == ("t", b"{}", 1, True, 7)
    lowered = packet.at_qos_0()
    assert lowered.raw == bytes([0x31]) + variable_length(len(body) - 2) + b"\0\1t" + body[5:]
    again = parse(lowered.raw, "up", "c", 5)
    assert (again.topic, again.payload, again.qos, again.retain) == ("t", b"{}", 0, True)
