#include "tests/model/model.h"

namespace berth::model {

namespace {

std::string number(int value) { return std::to_string(value); }

std::string sender(int who) {
  return who == kFirst ? "" : ", from identity " + number(who);  // Sender
}

}  // namespace

std::string describe(const Step& step) {
  constexpr const char* kRequests[] = {"PreBind", "Bind", "Release"};
  constexpr const char* kAnswers[] = {"PreBound", "Bound",    "Released", "Rejected",
                                      "Stale",    "Finished", "Hello(1)", "Hello(2)"};
  const std::string node = "node " + number(step.a) + ": ";
  const std::string pod = ", pod " + number(step.a);
  const std::string epoch = " epoch " + number(step.b);
  switch (step.kind) {
    case Step::begin:
      return "gateway: begin epoch " + number(step.a) + " of pod " + number(step.d) + " on node " + number(step.b) +
             ", incarnation " + number(step.c);
    case Step::leave: return "gateway: leave prebind" + pod;
    case Step::remove: return "gateway: evict" + pod;
    case Step::erase_pod: return "gateway: delete" + pod;
    case Step::commit: return "gateway: commit";
    case Step::crash: return "gateway: crash";
    case Step::lose_store: return "gateway: store lost";
    case Step::copy_store: return "operator: copy the gateway's store";
    case Step::roll_back: return "gateway: start on the copy of its store";
    case Step::restart: return "gateway: start again, " + number(step.a) + " epochs behind";
    case Step::raise_term: return "gateway: read Superseded";
    case Step::read_listing: return "gateway: read the listing of node " + number(step.a);
    case Step::forget_entry: return "gateway: drop the release entry of epoch " + number(step.a);
    case Step::deliver:
      return std::string("network: deliver ") + kRequests[step.a] + epoch + ", floor " + number(step.c) +
             sender(step.d >> 1) + ((step.d & 1) != 0 ? ", refused" : "");
    case Step::receive:
      return std::string("network: gateway reads ") + kAnswers[step.a] + epoch +
             (step.c != 0 ? ", after its deadline" : "");
    case Step::unsolicited_hello:
      return "network: gateway reads an unsolicited Hello(" + number(step.c) + ") of node " + number(step.b);
    case Step::deliver_list:
      return "network: deliver List to node " + number(step.a) + ", floor " + number(step.b) + sender(step.c) +
             (step.d == 2   ? ", which tells of a later state"
              : step.d != 0 ? ""
                            : ", the listing is lost");
    case Step::prepared: return node + "prepared" + epoch;
    case Step::prepare_failed: return node + "preparation failed," + epoch;
    case Step::promise_end: return node + "promise expired," + epoch;
    case Step::launch: return node + "start" + epoch;
    case Step::finish: return node + "workload finished," + epoch;
    case Step::stopped: return node + "stopped" + epoch;
    case Step::reboot: return node + "reboot";
    case Step::copy_device: return node + "its store is copied";
    case Step::roll_back_device:
      return node + "start on the copy of its store" + (step.b != 0 ? ", which its mark shows" : "");
    case Step::wipe: return node + "store lost, processes survive";
    case Step::sweep: return node + "stops surviving workloads (N0)";
  }
  return "?";
}

}  // namespace berth::model
