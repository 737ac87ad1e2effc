"""Devices renew their certificates by themselves over MQTT: real programs, the embedded broker, the openssl program."""

import json
import subprocess
import time

import pytest
from manifests import pod
from test_broker_access import admits
from test_embedded_tls import CLOCK, DAY, SecuredFleet, succeed
from waiting import wait_until


@pytest.fixture
def secured(tmp_path, leaves_no_process):
    fleet = SecuredFleet(tmp_path)
    yield fleet
    fleet.stop()


CA = """[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
default_md = sha256
rand_serial = yes
unique_subject = no
policy = any
[any]
commonName = supplied
"""


def sign_between(fleet, name, begin, end):
    """The gateway's authority signs the key of a device again, valid between two times, seconds from now."""
    own = fleet.folder / name
    (own / "conf").write_text(CA, encoding="utf-8")
    (own / "index").write_text("", encoding="utf-8")
    begin, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + each)) for each in (begin, end))
    for command in (["req", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", "-out", "request"],
                    ["ca", "-batch", "-notext", "-config", "conf", "-in", "request", "-cert", fleet.tls / "ca.crt", "-keyfile",
                     fleet.tls / "ca.key", "-startdate", begin, "-enddate", end, "-out", f"{name}.crt"]):
        subprocess.run(["openssl", *map(str, command)], cwd=own, check=True, capture_output=True)


def enroll_ending(fleet, name="n1"):
    """A device whose certificate ends tomorrow."""
    assert fleet.observer  # before anything happens
    succeed(fleet.enroll(name))
    sign_between(fleet, name, -1000 * DAY, DAY)


def condition(fleet, name="n1"):
    conditions = {c["type"]: c for c in fleet.get("node", name)["status"]["conditions"]}
    return conditions.get("CertificateExpiring", {}).get("message", "")


def containers(fleet, name, node="n1"):
    """When each of the pod's containers was started, and how often again."""
    return [(each["state"]["running"]["startedAt"], each["restartCount"]) for each in fleet.pod_on(name, node)["containerStatuses"]]


def pair_of(fleet, name="n1"):
    """The file that a renewal made."""
    return fleet.state_dir(name) / "certificate.pem"


def openssl(*arguments, text=None):
    done = subprocess.run(["openssl", *map(str, arguments)], input=text, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_device_renews_its_certificate_and_outlives_the_earlier_one(secured, monkeypatch):
    library = secured.folder / "clock.so"
    library.with_suffix(".c").write_text(CLOCK, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, library.with_suffix(".c"), "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    secured.start_gateway()
    enroll_ending(secured)
    agent = secured.start_device("n1")
    secured.observer.wait_message(secured.topic("events/default"), lambda e: e.get("reason") == "CertificateRenewed")
    secured.wait_node("n1")
    assert not condition(secured)
    agent.wait_output("the certificate was renewed")
    secured.programs["berthd"].wait_output("certificate issued to a node")
    assert pair_of(secured).stat().st_mode & 0o777 == 0o600
    assert "CN = n1" in openssl("x509", "-in", pair_of(secured), "-noout", "-subject")
    assert openssl("pkey", "-in", pair_of(secured), "-pubout") != openssl("pkey", "-in", secured.folder / "n1" / "n1.key", "-pubout")

    secured.apply(pod("web"))
    secured.wait_running("web", node="n1")
    started = containers(secured, "web")
    secured.programs["berthd"].stop()
    agent.stop()
    monkeypatch.setenv("BERTH_CLOCK_AHEAD", str(2 * DAY))
    secured.restart("berthd")
    secured.wait_broker()
    assert not secured.admits("n1")  # the earlier one has expired
    secured.restart("n1")
    secured.wait_node("n1")
    secured.wait_running("web", node="n1")
    assert containers(secured, "web") == started


def test_a_session_goes_over_to_the_new_certificate_without_harm_to_pods(secured):
    secured.start_gateway()
    assert secured.observer
    succeed(secured.enroll("n1"))
    agent = secured.start_device("n1")
    secured.wait_node("n1")
    secured.apply(pod("web"))
    secured.wait_running("web", node="n1")
    started = containers(secured, "web")
    agent.stop()
    sign_between(secured, "n1", -1000 * DAY, DAY)
    secured.restart("n1")
    secured.observer.wait_message(secured.topic("events/default"), lambda e: e.get("reason") == "CertificateRenewed")
    secured.wait_running("web", node="n1")
    assert containers(secured, "web") == started


def test_an_agent_and_a_gateway_that_are_killed_at_any_step_renew_in_the_end(secured):
    secured.start_gateway()
    enroll_ending(secured)
    agent = secured.start_device("n1")
    for _ in range(3):
        wait_until((secured.state_dir("n1") / "certificate.next.pem").exists, "the next key")
        key = (secured.state_dir("n1") / "certificate.next.pem").read_bytes()
        secured.kill("n1")
        if pair_of(secured).exists():
            break
        assert (secured.state_dir("n1") / "certificate.next.pem").read_bytes() == key
        agent = secured.restart("n1")
    if not pair_of(secured).exists():
        secured.kill("berthd")
        secured.restart("berthd")
        secured.wait_broker()
    wait_until(pair_of(secured).exists, "the renewed pair", 120)
    secured.kill("n1")
    agent = secured.restart("n1")
    agent.wait_output("mqtt link up")
    wait_until(lambda: not condition(secured), "the end of the condition")
    port = int(secured.broker_file("certificate-port"))
    assert admits(port, secured.tls / "ca.crt", (pair_of(secured), pair_of(secured)))


def test_a_pair_that_the_broker_refuses_gives_way_to_the_one_before(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    own, good = secured.folder / "n1", secured.folder / "good"
    good.mkdir()
    for ending in ("crt", "key"):
        (good / f"n1.{ending}").write_bytes((own / f"n1.{ending}").read_bytes())
    # Issued last, and expired by the broker's clock.
    sign_between(secured, "n1", -10, -5)
    refused = (own / "n1.key").read_text(encoding="utf-8") + (own / "n1.crt").read_text(encoding="utf-8")
    for ending in ("crt", "key"):
        (own / f"n1.{ending}").write_bytes((good / f"n1.{ending}").read_bytes())
    sign_between(secured, "n1", -1000 * DAY, 1000 * DAY)
    secured.state_dir("n1").mkdir(exist_ok=True)
    pair_of(secured).write_text(refused, encoding="utf-8")
    agent = secured.start_device("n1")
    agent.wait_output("the broker does not accept this certificate")
    secured.wait_node("n1")
    wait_until(lambda: not pair_of(secured).exists(), "the end of the refused pair")


class Raw:
    """A device's own client, which sends what it likes."""

    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.client = fleet.live(name)
        self.client.subscribe(fleet.topic(f"nodes/{name}/requests"))
        self.client.publish(fleet.topic(f"nodes/{name}/state"), json.dumps(
            {"incarnation": "raw", "session": "1", "sequence": "1", "allocatable": {"cpu": "1"}}), retain=True)
        self.client.publish(fleet.topic(f"nodes/{name}/presence"), json.dumps(
            {"incarnation": "raw", "session": "1", "online": True}), retain=True)
        wait_until(lambda: any(b'"List"' in payload for _, payload in list(self.client.messages)), "the gateway to know the node")

    def ask(self, request, name=None):
        self.client.publish(self.fleet.topic(f"gateways/{self.fleet.gateway_name}/answers/{name or self.name}"),
                            json.dumps({"type": "Renew", "incarnation": "raw", "request": request}))

    def told(self):
        """What came of it: (certificate, refusal)."""
        found = []
        for _, payload in list(self.client.messages):
            message = json.loads(payload) if payload else {}
            for each in message.get("items", [message]):
                each = {**message, **each}
                if each.get("type") == "Certificate":
                    found.append((each.get("certificate", ""), each.get("refusal", "")))
        return found


def signing_request(folder, name):
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
            "-keyout", folder / "any.key", "-out", folder / "any.csr")
    return (folder / "any.csr").read_text(encoding="utf-8")


def test_a_device_gets_certificates_of_its_own_name_only(secured):
    secured.start_gateway()
    for name in ("n1", "n2"):
        succeed(secured.enroll(name))
    raw = Raw(secured, "n1")
    request = signing_request(secured.folder, "n2")
    raw.ask(request, "n2")  # the broker lets nobody speak for another
    raw.ask(request)
    wait_until(raw.told, "an answer")
    [(certificate, refusal)] = raw.told()
    assert not refusal and "CN = n1" in openssl("x509", "-noout", "-subject", text=certificate)
    issued = secured.tls / "ca.issued"
    assert sorted(path.name for path in issued.iterdir()) == ["n1.crt", "n1.crt.1", "n1.crt.request", "n2.crt"]
    raw.client.close()


def test_junk_and_floods_cost_the_gateway_nothing_and_others_are_served(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    enroll_ending(secured, "n2")
    raw = Raw(secured, "n1")
    good = signing_request(secured.folder, "n1")
    lines = good.splitlines()
    raw.ask("\n".join([lines[0], "A" * 64, *lines[2:]]) + "\n")
    wait_until(raw.told, "an answer")
    assert "not accepted" in raw.told()[0][1]
    for _ in range(300):
        raw.ask(good)
        for junk in ("", "x", "-----BEGIN CERTIFICATE REQUEST-----\n", good + good, good[:-30], "A" * 9000, None, 7, [], good * 70):
            raw.ask(junk)
    secured.start_device("n2")
    secured.observer.wait_message(secured.topic("events/default"), lambda e: e.get("reason") == "CertificateRenewed")
    assert len(raw.told()) == 1, raw.told()
    assert not (secured.tls / "ca.issued" / "n1.crt.1").exists()
    raw.client.close()


def test_a_revoked_device_and_one_with_a_password_get_no_certificate(secured):
    secured.start_gateway()
    succeed(secured.enroll("n1"))
    raw = Raw(secured, "n1")
    issued = secured.tls / "ca.issued" / "n1.crt"
    issued.rename(secured.folder / "n1.crt")  # as revoke does, before it ends the session
    raw.ask(signing_request(secured.folder, "n1"))
    wait_until(raw.told, "an answer")
    assert "it was revoked" in raw.told()[0][1] and not issued.exists()
    assert "no certificate issued to a node" in secured.programs["berthd"].output()
    raw.client.close()
    (secured.folder / "n1.crt").rename(issued)
    before = secured.broker_pid()
    succeed(secured.revoke("n1"))
    secured.wait_broker(after=before)
    assert not secured.admits("n1")
