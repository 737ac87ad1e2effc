"""Rules N1 to N5 and P10, request by request."""

import json
import re

from kit import GATEWAY, NODE, STORE, epoch, need, order
from waiting import wait_until


def check_a_pod_is_placed_started_and_released(device):
    device.run(epoch(5), "u1")
    device.wait_status("u1", lambda s: s and s["phase"] == "Running" and s["slot"] == "running", "Running")
    status = device.status("u1")
    need((status["uid"], status["epoch"]) == ("u1", epoch(5)), "a status names uid and epoch of its slot", status)
    released = device.ask("Release", epoch(5), "u1")
    need(released["type"] == "Released", "Release of a running slot is answered Released", released)
    device.wait_status("u1", lambda s: s == "", "cleared")
    need(device.slot("u1") is None, "Released means that the slot is gone")


def check_an_answer_echoes_the_request_and_names_its_own_incarnation(device):
    answer = device.ask("Release", epoch(5), "u1")
    echo = {key: answer[key] for key in ("incarnation", "term", "storeId", "uid", "epoch")}
    need(echo == {"incarnation": device.incarnation, "term": "1", "storeId": STORE, "uid": "u1", "epoch": epoch(5)},
         "incarnation, term, storeId, uid and epoch are in every answer about a pod", answer)


def check_answers_go_to_the_gateway_that_asked(device):
    request = device.request("Release", epoch(5), "u1", gateway="other")
    device.send(request)
    topic = device.answers.replace(f"gateways/{GATEWAY}/", "gateways/other/")
    device.ask("Release", epoch(6), "u1")
    wrong = [answer for answer in device.all_answers() if answer["epoch"] == epoch(5)]
    need(not wrong, f"a request of gateway other is answered on {topic}, or not at all", wrong)


def check_n1_a_request_for_another_incarnation_is_answered_hello_and_changes_nothing(device):
    for request in (device.pre_bind_of(epoch(5), "u1"), device.request("Bind", epoch(5), "u1"),
                    device.request("Release", epoch(5), "u1")):
        hello = device.ask_request({**request, "incarnation": "of-another-life", "floor": epoch(9)})
        need(hello["type"] == "Hello" and hello.get("toIncarnation") == "of-another-life",
             f"{request['type']} for another incarnation is answered Hello with toIncarnation", hello)
        need(hello["incarnation"] == device.incarnation, "Hello names the device's own incarnation", hello)
    placed = device.pre_bind(epoch(5), "u1")
    need(placed["type"] == "PreBound", "hi and floor of a request for another incarnation are not kept", placed)


def check_n1_a_lower_term_and_another_store_of_the_same_term_are_superseded(device):
    device.term = 5
    device.run(epoch(5), "u1")
    for term, store in ((4, STORE), (4, "other"), (5, "other")):
        for request in (device.request("Release", epoch(9), "u1"), device.pre_bind_of(epoch(9), "u2"),
                        device.request("List", page=0, listId="7")):
            answer = device.ask_request({**request, "term": str(term), "storeId": store})
            need(answer["type"] == "Superseded", f"{request['type']} of ({term}, {store}) is answered Superseded", answer)
            need((answer["term"], answer["storeId"]) == ("5", STORE), "Superseded names the gateway obeyed", answer)
    need(device.slot("u1") == (epoch(5), "running"), "a superseded request changes nothing")
    need(device.pre_bind(epoch(8), "u2")["type"] == "PreBound", "hi of a superseded request is not kept")


def check_n1_a_higher_term_is_obeyed_durably(device):
    device.run(epoch(5), "u1")
    device.term, device.store = 2, "store-2"
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Bound", "a higher term is obeyed, its store whatever it is")
    device.restart()
    device.term, device.store = 1, STORE
    old = device.ask("Bind", epoch(5), "u1")
    need((old["type"], old["term"], old["storeId"]) == ("Superseded", "2", "store-2"),
         "the gateway obeyed is durable", old)


def check_n1_the_proof_of_a_list_is_kept_with_the_gateway_obeyed_and_returned(device):
    def superseded(why, proof):
        found = device.ask("List", page=0, listId="7", term="1", storeId="another")
        need((found["type"], found.get("proof")) == ("Superseded", proof), why, found)

    device.term = 5
    device.list_page(0, 1, proof="5.first")
    superseded("the proof of a List is returned", "5.first")
    device.list_page(0, 2, proof="5.second")
    device.restart()
    superseded("the proof of the latest List is durable", "5.second")
    device.term = 6
    device.pre_bind(epoch(5), "u1")
    superseded("a gateway that is obeyed by another request has given no proof", None)


def check_n1_gateways_obeyed_before_are_listed_with_their_proofs(device):
    device.term = 5
    device.list_page(0, 1, proof="5.first")
    device.term = 6
    page = device.list_page(0, 2, proof="6.second")
    first = {"storeId": device.store, "proof": "5.first"}
    need(page.get("obeyedBefore") == [first], "page 0 tells who was obeyed before, with its proof", page)
    device.restart()
    device.term = 7
    device.pre_bind(epoch(5), "u1")
    page = device.list_page(0, 3, proof="7.third")
    need(page.get("obeyedBefore") == [first, {"storeId": device.store, "proof": "6.second"}],
         "it is durable, and grows at its end", page)


def check_n1_the_term_of_the_sender_counts_and_not_that_of_the_epoch(device):
    device.term = 7
    need(device.pre_bind(epoch(5, term=1), "u1")["type"] == "PreBound", "an epoch of an older term is placed as any other")


def check_n2_a_repeated_pre_bind_is_answered_again(device):
    for _ in range(3):
        need(device.pre_bind(epoch(5), "u1")["type"] == "PreBound", "a repeated PreBind is answered PreBound")
    device.ask("Bind", epoch(5), "u1")
    need(device.pre_bind(epoch(5), "u1")["type"] == "PreBound", "and also when the slot is running")
    need(device.slot("u1") == (epoch(5), "running"), "and changes nothing")


def check_n2_an_epoch_at_or_below_the_highest_seen_is_stale(device):
    device.ask("Release", epoch(7), "u1")
    for counter in (6, 7):
        stale = device.pre_bind(epoch(counter), "u1")
        need(stale["type"] == "Stale" and order(stale["high"]) >= (1, counter), f"PreBind {counter} after 7 is Stale", stale)
    need(device.pre_bind(epoch(8), "u1")["type"] == "PreBound", "a higher epoch is placed")


def check_n2_an_epoch_is_compared_as_two_numbers(device):
    device.ask("Release", epoch(9), "u1")
    need(device.pre_bind(epoch(10), "u1")["type"] == "PreBound", "1.10 comes after 1.9")
    device.ask("Release", epoch(10), "u1")
    need(device.pre_bind(epoch(1, term=2), "u1")["type"] == "PreBound", "2.1 comes after 1.10")


def check_n2_numbers_beyond_two_to_the_53_are_kept_exactly(device):
    large = 2**63
    need(device.pre_bind(epoch(large + 1), "u1")["epoch"] == epoch(large + 1), "a large epoch is echoed exactly")
    need(device.pre_bind(epoch(large), "u1")["type"] == "Stale", "and compared exactly")


def check_n2_a_running_slot_of_an_older_epoch_stays_and_the_new_one_is_rejected_for_good(device):
    device.run(epoch(5), "u1")
    rejected = device.pre_bind(epoch(6), "u1")
    need(rejected["type"] == "Rejected" and rejected["reason"], "the pod's own running slot is in the way", rejected)
    need(device.slot("u1") == (epoch(5), "running"), "and stays")
    device.ask("Release", epoch(5), "u1")
    need(device.pre_bind(epoch(6), "u1")["type"] == "Stale", "Rejected is final")


def check_n2_a_prepared_slot_of_an_older_epoch_gives_way(device):
    device.pre_bind(epoch(5), "u1")
    need(device.pre_bind(epoch(6), "u1")["type"] == "PreBound", "a prepared slot gives way to a later epoch")
    need(device.slot("u1") == (epoch(6), "prepared"), "there is one slot a uid")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Stale", "the older epoch is over")


def check_n2_what_does_not_fit_is_rejected_for_good_and_across_a_restart(device):
    for resource, amount in (("cpu", "2001m"), ("memory", "513Mi"), ("berth.example/none", "1")):
        uid = "u-" + resource.rpartition("/")[2]
        large = device.manifest(uid, uid)
        large["spec"]["containers"][0]["resources"]["requests"] = {resource: amount}
        rejected = device.pre_bind(epoch(5), uid, large)
        need(rejected["type"] == "Rejected" and rejected["reason"], f"{amount} of {resource} does not fit", rejected)
        need(device.pre_bind(epoch(5), uid)["type"] == "Stale", "Rejected is final, even if it would fit now")
    device.restart()
    need(device.pre_bind(epoch(5), "u-cpu")["type"] == "Stale", "and durable")


def check_n2_every_slot_counts_against_what_is_offered(device):
    first, second = (device.manifest(uid, uid, memory="300Mi") for uid in ("u1", "u2"))
    device.pre_bind(epoch(5), "u1", first)
    need(device.pre_bind(epoch(6), "u2", second)["type"] == "Rejected", "a prepared slot counts")
    device.ask("Bind", epoch(5), "u1")
    need(device.pre_bind(epoch(7), "u2", second)["type"] == "Rejected", "a running slot counts")
    device.ask("Release", epoch(5), "u1")
    need(device.pre_bind(epoch(8), "u2", second)["type"] == "PreBound", "a released one does not")


def check_n2_a_host_port_is_held_by_one_slot(device):
    manifests = [device.manifest(uid, uid) for uid in ("u1", "u2")]
    for manifest in manifests:
        manifest["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    need(device.pre_bind(epoch(5), "u1", manifests[0])["type"] == "PreBound", "a free host port is admitted")
    need(device.pre_bind(epoch(6), "u2", manifests[1])["type"] == "Rejected", "a taken one is not")


def check_n2_what_the_device_cannot_honour_is_rejected(device):
    secret = device.manifest("u1", "u1")
    secret["spec"]["volumes"] = [{"name": "keys", "secret": {"secretName": "keys"}}]
    need(device.pre_bind(epoch(5), "u1", secret)["type"] == "Rejected", "a Secret that it does not have")
    claimed = device.manifest("u2", "u2")
    claimed["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    volumes = [{"claim": "default/data", "volume": "v", "path": "/nonexistent/of/nobody"}]
    answer = device.pre_bind(epoch(5), "u2", claimed, volumes=volumes)
    need(answer["type"] == "Rejected", "a volume that it does not offer", answer)


def check_n2_the_uid_may_be_in_the_manifest_alone(device):
    request = device.pre_bind_of(epoch(5), "u1")
    uid = request.pop("uid")
    after = len(device.all_answers())
    device.send(request)
    placed = device.wait_answer(after, {**request, "uid": uid})
    need(placed["type"] == "PreBound", "PreBind with the uid in pod.metadata is placed", placed)
    need(device.slot(uid) == (epoch(5), "prepared"), "under that uid")


def check_n3_bind_without_a_slot_is_stale_and_final(device):
    stale = device.ask("Bind", epoch(5), "u1")
    need(stale["type"] == "Stale" and order(stale["high"]) >= (1, 5), "Bind without a slot is Stale", stale)
    need(device.pre_bind(epoch(5), "u1")["type"] == "Stale", "the epoch never runs after that")
    device.restart()
    need(device.pre_bind(epoch(5), "u1")["type"] == "Stale", "even after a restart")


def check_n3_a_repeated_bind_is_answered_again(device):
    device.run(epoch(5), "u1")
    for _ in range(3):
        need(device.ask("Bind", epoch(5), "u1")["type"] == "Bound", "a repeated Bind is answered Bound")


def check_n4_release_of_what_was_never_seen_is_final(device):
    need(device.ask("Release", epoch(5), "u1")["type"] == "Released", "Release without a slot is answered Released")
    need(device.pre_bind(epoch(5), "u1")["type"] == "Stale", "and its epoch never runs, though it was never seen")
    device.restart()
    need(device.pre_bind(epoch(5), "u1")["type"] == "Stale", "even after a restart")


def check_n4_release_ends_an_older_slot_and_leaves_a_later_one(device):
    device.run(epoch(5), "u1")
    need(device.ask("Release", epoch(4), "u1")["type"] == "Released", "Release of an older epoch is answered")
    need(device.slot("u1") == (epoch(5), "running"), "and leaves the later slot")
    need(device.ask("Release", epoch(6), "u1")["type"] == "Released", "Release of a later epoch is answered")
    need(device.slot("u1") is None, "and ends the older slot")
    need(device.pre_bind(epoch(6), "u1")["type"] == "Stale", "hi is the epoch released")


def check_n4_release_of_a_prepared_slot_ends_it(device):
    device.pre_bind(epoch(5), "u1")
    need(device.ask("Release", epoch(5), "u1")["type"] == "Released", "a prepared slot is released")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Stale", "and cannot be bound")
    device.wait_status("u1", lambda s: s == "", "cleared")


def check_n5_a_promise_ends_and_a_repeated_pre_bind_does_not_prolong_it(device):
    device.pre_bind(epoch(5), "u1", promise_ms=300)
    wait_until(lambda: device.pre_bind(epoch(5), "u1", promise_ms=300)["type"] == "Stale", "a promise of 300 ms to end")
    need(device.slot("u1") is None, "its slot has ended")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Stale", "and cannot be bound")


def check_n5_a_promise_ends_across_a_restart(device):
    device.pre_bind(epoch(5), "u1", promise_ms=2000)
    device.restart()
    device.wait_no_slot("u1", "a promise of 2 s ends after a restart too")
    need(device.pre_bind(epoch(5), "u1")["type"] == "Stale", "hi stays")


def check_p10_below_the_floor_nothing_is_placed_even_after_a_restart(device):
    device.floor = epoch(100)
    device.list_page(0, 7)
    for wait in (False, True):
        stale = device.pre_bind(epoch(50), "u1")
        need(stale["type"] == "Stale" and order(stale["high"]) >= (1, 50), "PreBind below the floor is Stale", stale)
        need(device.ask("Bind", epoch(51), "u1")["type"] == "Stale", "Bind below the floor is Stale")
        need(device.ask("Release", epoch(52), "u1")["type"] == "Released", "Release below the floor is Released")
        device.floor = epoch(1)  # of a request that was long on its way
        if not wait:
            device.restart()
    need(device.pre_bind(epoch(100), "u1")["type"] == "PreBound", "at the floor a pod is placed")


def check_p10_a_slot_below_the_floor_goes_on(device):
    device.run(epoch(5), "u1")
    device.floor = epoch(100)
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Bound", "a slot below the floor is bound")
    need(device.pre_bind(epoch(5), "u1")["type"] == "PreBound", "and answers PreBind")
    need(device.ask("Release", epoch(50), "u1")["type"] == "Released", "Release below the floor is answered")
    need(device.slot("u1") is None, "and ends an older slot")


def check_a_list_of_requests_is_taken_item_by_item(device):
    requests = [device.pre_bind_of(epoch(5), "u1"), {"type": "Perhaps"}, device.request("Release", epoch(6), "u2"),
                {**device.request("Bind", epoch(7), "u3"), "term": 1}, device.request("Release", epoch(8), "u4")]
    after = len(device.all_answers())
    device.send(*requests)
    types = [device.wait_answer(after, request)["type"] for request in (requests[0], requests[2], requests[4])]
    need(types == ["PreBound", "Released", "Released"], "an invalid item is dropped, the others are taken", types)
    need(not [a for a in device.all_answers() if a.get("uid") == "u3"], "an invalid item is not answered")


def check_members_of_a_list_are_defaults_of_its_items(device):
    common = device.request("Release", epoch(5), "u1", promiseMs="60000")
    uids = [f"u{number}" for number in range(32)]
    after = len(device.all_answers())
    device.send_raw({**{key: value for key, value in common.items() if key not in ("uid", "epoch")},
                     "items": [{"uid": uid, "epoch": epoch(5)} for uid in uids[:-1]] +
                              [{"type": "Bind", "uid": uids[-1], "epoch": epoch(5)}]})
    types = {device.wait_answer(after, {**common, "uid": uid})["type"] for uid in uids[:-1]}
    need(types == {"Released"}, "31 releases of one list are answered", types)
    need(device.wait_answer(after, {**common, "uid": uids[-1]})["type"] == "Stale", "an item's own member wins")


def check_a_request_to_another_node_is_not_obeyed(device):
    request = device.request("Release", epoch(5), "u1")
    device.client.publish(device.topic("requests").replace(f"/{NODE}/", "/n2/"), request)
    device.slots()
    need(not [a for a in device.all_answers() if a.get("uid") == "u1"], f"only nodes/{NODE}/requests is obeyed")


def check_a_heartbeat_request_is_not_answered_but_keeps_the_floor(device):
    device.floor = epoch(100)
    before = len(device.all_answers())
    device.send(device.request("Heartbeat", sequence="1"))
    device.floor = epoch(1)
    need(device.pre_bind(epoch(50), "u1")["type"] == "Stale", "the floor of a Heartbeat counts")
    need(len(device.all_answers()) == before + 1, "a Heartbeat is not answered")


JUNK = ("", "{", "[]", "7", "null", "\xff", '"text"', "{}", '{"type":"Bind"}', '{"type":"Bind","type":"Bind"}',
        '{"items":[]}', '{"items":{}}', '{"items":[1,null,"x",[]]}', '{"items":[{"items":[{}]}]}', "[" * 5000, '{"a":' * 3000,
        '{"type":["PreBind"]}', '{"type":"PreBind","pod":7}')


def check_junk_is_dropped_and_harms_nothing(device):
    device.run(epoch(5), "u1")
    for text in JUNK:
        device.send_raw(text.encode("latin-1"))
    device.send_raw(b"x" * 60000)
    device.send_raw(b"\x00\x01\xfe\xff")
    twice = json.dumps(device.request("Release", epoch(9), "u2")).replace('"floor"', '"term": "1", "floor"')
    device.send_raw(twice)
    device.send_raw({"items": [device.request("Release", epoch(9), "u1")] * 33})
    good = device.pre_bind_of(epoch(6), "u2")
    for member, wrong in (("term", 1), ("term", "-1"), ("term", "1e3"), ("term", str(2**64)), ("storeId", "a b"), ("storeId", ""),
                          ("floor", "1"), ("floor", 1.5), ("epoch", "0.0"), ("epoch", "1.x"), ("epoch", None), ("uid", "../u"),
                          ("uid", "u" * 129), ("uid", {}), ("incarnation", 7), ("gateway", "a/b"), ("gateway", "+"),
                          ("promiseMs", 5), ("promiseMs", "soon"), ("pod", []), ("pod", "text"), ("type", "prebind")):
        device.send({**good, member: wrong})
    for member, wrong in (("page", "0"), ("page", -1), ("page", 0.5), ("page", True), ("listId", 7), ("listId", "")):
        device.send({**device.request("List", page=0, listId="99"), member: wrong})
    for time in ("0", "1", "1795491743000", str(2**63), str(2**64 - 1)):
        need(device.list_page(0, 98, time=time)["type"] == "Slots", f"a List that tells the time {time} is answered")
    device.send({"type": "List"})
    need(device.slots().keys() == {"u1"}, "after junk the device answers, with the slot that it had")
    need(device.program.alive(), "and lives")
    need(not [a for a in device.all_answers() if a.get("uid") == "u2"], "what is invalid is dropped, not answered")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Bound", "and its slot is what it was")


FEATURES = {  # of a container
    "probes": {"livenessProbe": {"tcpSocket": {"port": 80}}},
    "grpcProbes": {"livenessProbe": {"grpc": {"port": 80}}},
    "httpsHandlers": {"readinessProbe": {"httpGet": {"port": 443, "scheme": "HTTPS"}}},
    "handlerHostNames": {"startupProbe": {"tcpSocket": {"port": 80, "host": "db.example"}}},
    "lifecycle": {"lifecycle": {"preStop": {"exec": {"command": ["/bin/true"]}}}},
    "limits": {"resources": {"limits": {"memory": "8Mi"}}},
    "securityContext": {"securityContext": {"runAsUser": 1000}},
    "secrets": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
    "configMaps": {"envFrom": [{"configMapRef": {"name": "c"}}]},
}


def check_n2_what_asks_for_a_feature_that_the_device_does_not_list_is_rejected(device):
    listed = device.reported().get("features")
    if listed is None:
        return  # then a pod that asks for it may be placed there, and only its manifest tells
    need(len(listed) == len(set(listed)) <= 64 and all(re.fullmatch(r"[A-Za-z0-9._/-]{1,128}", name) for name in listed),
         "features are at most 64 names", listed)
    for feature, members in FEATURES.items():
        if feature in listed:
            continue
        uid = "u-" + feature.lower()
        manifest = device.manifest(uid, uid)
        manifest["spec"]["containers"][0].update(members)
        answer = device.pre_bind(epoch(5), uid, manifest)
        need(answer["type"] == "Rejected" and answer["reason"], f"{feature} is not listed", answer)


def check_a_manifest_that_cannot_be_read_is_rejected(device):
    for number, pod in enumerate(({"metadata": {}}, {"metadata": {"name": "web", "namespace": "a/b"}, "spec": {}}, {"spec": []},
                                  {"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": "none"}})):
        answer = device.pre_bind(epoch(5), f"u{number}", pod)
        need(answer["type"] == "Rejected" and answer["reason"], f"{pod} is rejected with a reason", answer)
