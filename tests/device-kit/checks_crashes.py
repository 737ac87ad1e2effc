"""Crashes: kill -9 at moments that matter, and at others. What was answered is durable; what was not may be either way."""

import random

from kit import epoch, need

def check_a_prepared_slot_survives_a_crash_after_pre_bound(device):
    device.pre_bind(epoch(5), "u1")
    device.restart()
    need(device.slot("u1") == (epoch(5), "prepared"), "PreBound means that the slot is on flash")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Bound", "and that it can be bound")


def check_a_running_slot_survives_a_crash_after_bound(device):
    device.run(epoch(5), "u1")
    device.restart()
    need(device.slot("u1") == (epoch(5), "running"), "Bound means that the slot is running on flash")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Bound", "and it is answered so again")
    need(device.pre_bind(epoch(4), "u1")["type"] == "Stale", "hi is on flash with it")


def check_a_released_slot_stays_released_after_a_crash(device):
    device.run(epoch(5), "u1")
    device.ask("Release", epoch(5), "u1")
    device.restart()
    need(device.slot("u1") is None, "Released means that the slot is gone from flash")
    need(device.ask("Bind", epoch(5), "u1")["type"] == "Stale", "for good")


def check_a_stop_that_a_crash_interrupts_goes_on(device):
    device.run(epoch(5), "u1", stubborn(device, "u1"))
    device.send(device.request("Release", epoch(5), "u1"))
    device.restart()
    need(device.ask("Release", epoch(5), "u1")["type"] == "Released", "after a crash Release is answered again")
    need(device.slot("u1") is None, "and the slot is gone")


def stubborn(device, uid):
    """A pod that does not heed SIGTERM."""
    return device.manifest(uid, uid, command=("sh", "-c", "trap '' TERM; while :; do sleep 1; done"))


def check_an_agent_that_is_killed_in_bind_answers_when_it_is_asked_again(device):
    for counter in range(5, 10):
        uid = f"u{counter}"
        device.pre_bind(epoch(counter), uid)
        device.send(device.request("Bind", epoch(counter), uid))
        device.restart()
        need(device.ask("Bind", epoch(counter), uid)["type"] == "Bound", "Bind of a prepared or running slot is Bound")
        device.ask("Release", epoch(counter), uid)


class History:
    """What the answers of a device have promised so far."""

    def __init__(self):
        self.never = set()  # (uid, counter) that was Rejected or Stale
        self.released = {}  # uid: the highest counter that was Released; nothing up to it runs later
        self.held = {}  # uid: (counter, states that its slot may have)

    def take(self, request, answer):
        uid, counter, kind = request["uid"], int(request["epoch"].split(".")[1]), answer["type"]
        if kind in ("Rejected", "Stale"):
            self.never.add((uid, counter))
        elif kind == "Released":
            self.released[uid] = max(self.released.get(uid, 0), counter)
            if uid in self.held and self.held[uid][0] <= counter:
                del self.held[uid]
        elif kind == "PreBound":
            self.held[uid] = (counter, ("prepared", "running"))
        elif kind == "Bound":
            self.held[uid] = (counter, ("running", "finished"))

    def doubt(self, request):
        """The request was sent and the agent killed: it may have been carried out, or not."""
        uid, counter = request["uid"], int(request["epoch"].split(".")[1])
        if uid not in self.held or self.held[uid][0] > counter:
            return
        if request["type"] == "Release":
            del self.held[uid]
        elif self.held[uid][0] == counter:
            self.held[uid] = (counter, ("prepared", "running", "finished"))

    def check(self, slots):
        for uid, slot in slots.items():
            counter = int(slot["epoch"].split(".")[1])
            over = (uid, counter) in self.never or counter <= self.released.get(uid, 0)
            need(not over, f"{uid}: epoch {counter} was answered finally, and is there again", slot["state"])
        for uid, (counter, states) in self.held.items():
            slot = slots.get(uid)
            need(slot and slot["epoch"] == epoch(counter) and slot["state"] in states,
                 f"{uid}: what was answered is not there: epoch {counter} in {states}", slot and (slot["epoch"], slot["state"]))


def check_whatever_was_answered_holds_through_a_storm_of_kills(device):
    dice, history, counter = random.Random(20), History(), 10
    last = {}
    for _ in range(12):
        for _ in range(dice.randrange(1, 5)):
            uid, counter = f"u{dice.randrange(4)}", counter + 1
            kind = dice.choice(("PreBind", "PreBind", "Bind", "Bind", "Release"))
            at = epoch(counter) if kind == "PreBind" or uid not in last else last[uid]
            request = device.pre_bind_of(at, uid) if kind == "PreBind" else device.request(kind, at, uid)
            last[uid] = at
            history.take(request, device.ask_request(request))
        doubtful = device.request(dice.choice(("Bind", "Release")), last[uid], uid)
        device.send(doubtful)
        history.doubt(doubtful)
        device.restart()
        history.check(device.slots())
        history.take(doubtful, device.ask_request(doubtful))
