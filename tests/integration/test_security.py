"""Accounts and certificates, end to end."""

import subprocess

import pytest
from broker import Broker, Client
from fleet import Fleet
from invariants import wait_each_runs_once
from manifests import pod

IDENTITIES = ("berthd", "n1", "operator", "observer")


@pytest.fixture
def secured(tmp_path, tls_broker, authority):
    """A fleet whose programs use client certificates, on a broker that requires them."""
    issued = {identity: authority.issue(identity) for identity in IDENTITIES}
    fleet = Fleet(tmp_path, tls_broker.port)
    fleet.account = lambda identity: ["--ca-file", authority.ca, "--cert-file", issued[identity][0], "--key-file",
                                      issued[identity][1]]
    fleet.observer_options = {"authority": authority, "certificate": issued["observer"]}
    yield fleet
    fleet.stop()


@pytest.fixture
def guarded(tmp_path, leaves_no_process):
    """A fleet whose programs have an account each, on a broker that refuses everybody else."""
    accounts = tmp_path / "accounts"
    accounts.write_text("".join(f"{identity}:secret-{identity}\n" for identity in IDENTITIES), encoding="utf-8")
    for identity in IDENTITIES:
        (tmp_path / f"{identity}.password").write_text(f"secret-{identity}\n", encoding="utf-8")
    subprocess.run(["mosquitto_passwd", "-U", accounts], check=True)
    running = Broker(tmp_path / "broker", config=f"allow_anonymous false\npassword_file {accounts}\n").start()
    fleet = Fleet(tmp_path, running.port)
    fleet.account = lambda identity: ["--username", identity, "--password-file", tmp_path / f"{identity}.password"]
    fleet.observer_options = {"password": "secret-observer"}
    yield fleet
    fleet.stop()
    running.stop()


def test_a_pod_runs_over_tls_with_certificates_on_both_sides(secured):
    secured.start("n1")
    secured.apply(pod("web"))
    secured.wait_running("web", node="n1")
    wait_each_runs_once(secured, "web")


def test_a_program_without_a_certificate_is_refused_and_logs_it(secured, authority):
    secured.account = lambda identity: ["--ca-file", authority.ca]
    secured.start_gateway()
    secured.programs["berthd"].wait_output("certificate")
    assert secured.programs["berthd"].alive()


def test_a_broker_with_a_certificate_of_another_authority_is_not_trusted(secured, tmp_path):
    stranger = type(secured.observer_options["authority"])(tmp_path / "stranger")
    certificate, key = stranger.issue("berthd")
    secured.account = lambda identity: ["--ca-file", stranger.ca, "--cert-file", certificate, "--key-file", key]
    secured.start_gateway()
    secured.programs["berthd"].wait_output("certificate")


def test_a_pod_runs_with_user_names_and_passwords(guarded):
    guarded.start("n1")
    guarded.apply(pod("web"))
    guarded.wait_running("web", node="n1")
    wait_each_runs_once(guarded, "web")


def test_a_wrong_password_is_logged_and_not_fatal(guarded, tmp_path):
    right = (tmp_path / "n1.password").read_text(encoding="utf-8")
    (tmp_path / "n1.password").write_text("wrong\n", encoding="utf-8")
    guarded.start_gateway()
    guarded.start_agent("n1")
    guarded.programs["n1"].wait_output("the broker refused")
    assert guarded.programs["n1"].alive()
    guarded.programs["n1"].stop()
    (tmp_path / "n1.password").write_text(right, encoding="utf-8")
    guarded.restart("n1")
    guarded.wait_node("n1")


def test_a_device_ends_nobodys_session_at_the_embedded_broker(embedded):
    embedded.start("n1", "n2")
    embedded.observer.wait(lambda: embedded.observer.connected, "the observer")
    for taken in (f"berth-{embedded.name}-gateway-gw", "gw", f"berth-{embedded.name}-n2", "n2", "observer", "operator"):
        Client(embedded.devices_port, taken, username="n1", password="secret-n1").close()
        assert embedded.ctl("get", "nodes").returncode == 0
    assert embedded.observer.connected
    for name in ("berthd", "n2"):
        assert "link lost" not in embedded.programs[name].output(), name
    with pytest.raises(ConnectionRefusedError):
        Client(embedded.port, "observer", username="n1", password="secret-n1")


def test_the_embedded_broker_admits_its_accounts_and_limits_each_to_its_topics(embedded):
    embedded.start("n1", "n2")
    embedded.apply(pod("web"))
    node = embedded.wait_running("web")
    wait_each_runs_once(embedded, "web")
    other = {"n1": "n2", "n2": "n1"}[node]
    # Messages that the other node publishes on this node's topics do not reach the gateway.
    intruder = embedded.client(other)
    intruder.publish(embedded.topic(f"nodes/{node}/presence"), {"incarnation": "x", "session": "9", "online": False})
    intruder.publish(embedded.topic(f"nodes/{node}/requests"), {"type": "Release"})
    intruder.publish(embedded.topic(f"nodes/{other}/heartbeat"), {"incarnation": "x"})
    wait_each_runs_once(embedded, "web")
    assert embedded.get("node", node)["status"]["conditions"][0]["status"] == "True"
    intruder.close()
