// What one message changed, where it was the only one of its turn (S6, S12).
#include "tests/sim/witness.h"

#include <algorithm>
#include <utility>

namespace berth::sim {

void Witness::before_gateway_message(const std::string& sender, const std::optional<Answer>& answer,
                                     const std::string& status_uid) {
  AtGateway at{sender, answer, status_uid, {}, {}, {}, {}, false};
  if (answer) {
    const auto row = gateway_.rows.find(answer->uid);
    const bool of_row = row != gateway_.rows.end() && row->second.epoch == answer->epoch;
    const bool of_entry = gateway_.releases.contains(answer->node + "/" + answer->uid + "/" + to_text(answer->epoch));
    at.is_stale = !of_row && !of_entry && answer->type != AnswerType::slots && answer->type != AnswerType::superseded;
  }
  if (at.is_stale) {
    at.rows = only(gateway_.contents, Table::row);
    at.releases = only(gateway_.contents, Table::release);
  }
  // The row and the object of the pod that the message is about.
  const std::string& uid = answer ? answer->uid : status_uid;
  if (const auto row = gateway_.rows.find(uid); !uid.empty() && row != gateway_.rows.end()) {
    at.row_by_uid.insert(*row);
    for (const auto& id : {std::pair(Table::row, uid), std::pair(Table::object, "pods/" + row->second.pod)}) {
      if (const auto found = gateway_.contents.find(id); found != gateway_.contents.end()) at.of_pod.insert(*found);
    }
  }
  at_gateway_ = std::move(at);
}

void Witness::after_gateway_message() {
  if (!at_gateway_) return;
  const AtGateway at = std::move(*std::exchange(at_gateway_, std::nullopt));
  const auto kept = [&](const auto& id, const Content& content) {
    const auto now = gateway_.contents.find(id);
    return now != gateway_.contents.end() && now->second == content;
  };
  for (const Contents* table : {&at.rows, &at.releases}) {
    for (const auto& [id, content] : *table) {
      if (!at.is_stale || kept(id, content)) continue;
      // The turn that handles it also schedules, and may preempt a pod.
      if (id.first == Table::row && preempted_.contains(decode_row(content.value, content.phase)->pod)) continue;
      news_.stale_changes.push_back("the stale " + std::string(to_string(at.answer->type)) + " for " +
                                    show(at.answer->uid, at.answer->epoch) + " from node " + at.sender +
                                    " changed the gateway's record " + id.second);
    }
  }
  const std::string uid = at.answer ? at.answer->uid : at.status_uid;
  // In adopt mode a pod is where the highest running epoch was listed (P8).
  if (gateway_.adopting) return;
  const auto row = at.row_by_uid.find(uid);
  if (uid.empty() || row == at.row_by_uid.end() || row->second.node == at.sender) return;
  const bool same = std::all_of(at.of_pod.begin(), at.of_pod.end(),
                                [&](const auto& record) { return kept(record.first, record.second); });
  if (same || preempted_.contains(row->second.pod)) return;
  news_.foreign_changes.push_back("a message from node " + at.sender + " changed pod " + uid +
                                  ", whose row names node " + row->second.node);
}

namespace {

Contents slots_and_highs(const DeviceView& view) {
  Contents both = only(view.contents, Table::slot);
  both.merge(only(view.contents, Table::high));
  return both;
}

}  // namespace

void Witness::before_device_message(const std::string& node, const Request& request, bool ready) {
  const DeviceView& view = *device(node);
  const NodeState& state = view.durable.state;
  AtDevice at{request, false, false, 0, {}};
  if (!request.uid.empty()) {
    const bool other = request.incarnation != state.incarnation;
    const bool overruled = !state.gateway.store_id.empty() && request.gateway_id != state.gateway &&
                           request.gateway_id.term <= state.gateway.term;
    const auto slot = state.slots.find(request.uid);
    const bool to_stop =
        request.type == RequestType::release && slot != state.slots.end() && slot->second.epoch <= request.epoch;
    at.is_stale = other || overruled ||
                  (is_final(node, {request.uid, request.epoch}, state.incarnation) && !to_stop &&
                   request.gateway_id == state.gateway && request.floor <= state.floor);
    at.must_answer = at.is_stale && ready && request.via.empty();  // N12: the name may mean nothing any more
  }
  if (at.is_stale) at.before = slots_and_highs(view);
  at_device_ = std::move(at);
}

void Witness::after_device_message(const std::string& node) {
  if (!at_device_) return;
  const AtDevice at = std::move(*std::exchange(at_device_, std::nullopt));
  if (!at.is_stale) return;
  const std::string what =
      "the stale " + std::string(to_string(at.request.type)) + " for " + show(at.request.uid, at.request.epoch);
  if (slots_and_highs(*device(node)) != at.before)
    news_.stale_changes.push_back(what + " changed the store of node " + node);
  if (at.must_answer && at.answers == 0) {
    news_.stale_changes.push_back(what + " was not answered again by node " + node);
  }
}

}  // namespace berth::sim
