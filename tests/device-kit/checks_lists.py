"""Listings: what a gateway concludes from them decides whether a pod is placed a second time."""

from kit import epoch, need


def fill(device, count):
    """Places `count` pods whose manifests are so large that a listing has several pages."""
    for number in range(count):
        uid = f"u{number:02}"
        large = device.manifest(uid, uid, cpu="10m", memory="1Mi")
        large["metadata"]["annotations"] = {"note": "x" * 25000}
        placed = device.pre_bind(epoch(10 + number), uid, large)
        need(placed["type"] == "PreBound", "a pod of 25 kB is placed", placed)


def uids(*pages):
    return [slot["uid"] for page in pages for slot in page["slots"]]


def check_a_device_without_slots_answers_one_empty_page(device):
    page = device.list_page(0, 7)
    need((page["page"], page["pages"], page["slots"], page["listId"]) == (0, 1, [], "7"), "page 0 of 1, no slots", page)


def check_a_listing_shows_each_slot_with_epoch_state_and_manifest(device):
    device.run(epoch(5), "u1")
    device.pre_bind(epoch(6), "u2")
    slots = device.slots()
    need({uid: (slot["epoch"], slot["state"]) for uid, slot in slots.items()} ==
         {"u1": (epoch(5), "running"), "u2": (epoch(6), "prepared")}, "each slot once", slots)
    need(slots["u1"]["pod"]["metadata"]["name"] == "u1", "with the manifest that PreBind brought", slots["u1"])


def check_pages_of_a_listing_hold_each_slot_once(device):
    fill(device, 7)
    first = device.list_page(0, 7)
    need(1 < first["pages"] <= 64, "seven slots of 25 kB have several pages", first["pages"])
    pages = [first] + [device.list_page(page, 7) for page in range(1, first["pages"])]
    need([page["page"] for page in pages] == list(range(first["pages"])), "each page has its number from 0")
    need(sorted(uids(*pages)) == [f"u{number:02}" for number in range(7)], "every slot is on one page", uids(*pages))
    again = [device.list_page(page, 7) for page in (1, 0)]
    need([uids(page) for page in again] == [uids(pages[1]), uids(pages[0])], "a page may be asked for again")


def check_the_slots_of_a_listing_are_frozen_and_their_states_are_not(device):
    fill(device, 6)
    first = device.list_page(0, 7)
    need(first["pages"] > 1, "several pages", first["pages"])
    gone, late = uids(first)[0], [uid for uid in (f"u{n:02}" for n in range(6)) if uid not in uids(first)]
    at = {f"u{number:02}": epoch(10 + number) for number in range(6)}
    device.ask("Release", at[gone], gone)
    device.ask("Release", at[late[0]], late[0])
    device.ask("Bind", at[late[1]], late[1])
    device.pre_bind(epoch(50), "a-first-by-name")
    device.pre_bind(epoch(51), late[0])
    rest = [device.list_page(page, 7) for page in range(1, first["pages"])]
    listed = {slot["uid"]: (slot["epoch"], slot["state"]) for page in rest for slot in page["slots"]}
    need(sorted(listed) == sorted(late[1:]), "no slot joins, moves to another page, or is missed", listed)
    need(listed[late[1]][1] == "running", "states are those of the moment a page is asked for", listed)
    need(all(page["pages"] == first["pages"] for page in rest), "the number of pages stays")


def check_another_list_id_is_a_new_listing(device):
    fill(device, 4)
    device.list_page(0, 7)
    device.ask("Release", epoch(10), "u00")
    device.pre_bind(epoch(50), "u50")
    first = device.list_page(0, 8)
    found = uids(first, *[device.list_page(page, 8) for page in range(1, first["pages"])])
    need(sorted(found) == ["u01", "u02", "u03", "u50"], "a new listing has the slots of now", found)


def check_a_restarted_device_begins_an_open_listing_again_at_page_0(device):
    fill(device, 6)
    first = device.list_page(0, 7)
    device.restart()
    page = device.list_page(1, 7)
    need((page["page"], page["listId"]) == (0, "7"), "a page of a listing from before the restart is answered by page 0",
         {key: page[key] for key in ("page", "pages", "listId")})
    rest = [device.list_page(number, 7) for number in range(1, page["pages"])]
    need(len(uids(page, *rest)) == 6, "and the listing goes on from there", first["pages"])


def check_a_page_beyond_the_last_begins_again(device):
    device.pre_bind(epoch(5), "u1")
    device.list_page(0, 7)
    page = device.list_page(5, 7)
    need((page["page"], uids(page)) == (0, ["u1"]), "a page that is not there is answered by page 0", page)


def check_the_same_list_id_of_another_gateway_is_another_listing(device):
    fill(device, 4)
    device.list_page(0, 7)
    device.ask("Release", epoch(10), "u00")
    device.pre_bind(epoch(50), "u50")
    device.term = 2
    page = device.list_page(0, 7)
    found = uids(page, *[device.list_page(number, 7) for number in range(1, page["pages"])])
    need(sorted(found) == ["u01", "u02", "u03", "u50"], "a listing is one of (listId, term, storeId)", found)


def check_a_list_with_report_publishes_state_and_statuses_again(device):
    device.run(epoch(5), "u1")
    device.wait_status("u1", lambda s: s and s["phase"] == "Running", "Running")
    state, status = device.topic("state"), device.topic("pods/default/u1")
    before = len(device.client.of(state)), len(device.client.of(status))
    device.list_page(0, 7, report=True)
    device.client.wait(lambda: len(device.client.of(state)) > before[0], "the state again")
    device.client.wait(lambda: len(device.client.of(status)) > before[1], "the status again")


def check_two_slots_of_one_name_leave_the_status_of_the_one_that_is_there(device):
    device.run(epoch(5), "u1", device.manifest("web", "u1"))
    device.run(epoch(6), "u2", device.manifest("web", "u2"))
    device.ask("Release", epoch(5), "u1")
    device.wait_status("web", lambda s: s and s["uid"] == "u2", "that of the slot that is left")
    device.ask("Release", epoch(6), "u2")
    device.wait_status("web", lambda s: s == "", "cleared")
