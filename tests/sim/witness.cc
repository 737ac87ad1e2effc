#include "tests/sim/witness.h"

#include <algorithm>

namespace berth::sim {

Contents only(const Contents& contents, Table table) {
  Contents some;
  for (auto record = contents.lower_bound({table, ""}); record != contents.end(); ++record) {
    if (record->first.first != table) break;
    some.insert(*record);
  }
  return some;
}

DeviceView& Witness::add_device(const std::string& name, const std::string& node, Resources allocatable,
                                const SimRuntime& runtime) {
  auto device = std::make_unique<DeviceView>();
  device->name = name;
  device->node = node;
  device->allocatable = std::move(allocatable);
  device->runtime = &runtime;
  devices_.push_back(std::move(device));
  return *devices_.back();
}

const DeviceView* Witness::device(const std::string& name) const {
  for (const auto& device : devices_) {
    if (device->name == name) return device.get();
  }
  return nullptr;
}

const DeviceView* Witness::device(const std::string& node, std::string_view incarnation) const {
  for (const auto& device : devices_) {
    if (device->node == node && device->durable.state.incarnation == incarnation) return device.get();
  }
  return nullptr;
}

bool Witness::is_shared(const std::string& node) const {
  return std::count_if(devices_.begin(), devices_.end(), [&](const auto& view) { return view->node == node; }) > 1;
}

void Witness::set_hostile(const std::string& name) {
  for (const auto& device : devices_) device->hostile = device->hostile || device->name == name;
}

void Witness::check_everything() {
  scope_.everything = scope_.volumes = true;
  for (const auto& device : devices_) {
    scope_.slots.insert(device->name);
    scope_.rows.insert(device->name);
    for (const auto& [uid, slot] : device->durable.state.slots) scope_.uids.insert(uid);
    for (const Tag& tag : device->runtime->alive()) scope_.uids.insert(tag.uid);
  }
  for (const auto& [uid, row] : gateway_.rows) scope_.rows.insert(row.node), scope_.uids.insert(uid);
}

void Witness::check_turn() {
  judge_hellos();
  for (auto& [key, wrong] : std::exchange(accepted_, {})) {
    if (!preempted_.contains(key)) news_.accepted_without_flash.push_back(std::move(wrong));
  }
}

bool Witness::is_fresh(RequestType type, const PlacementId& named, Millis now) const {
  constexpr Millis kFreshMs = 8'000;
  const auto found = asked_.find({type, named});
  return found == asked_.end() || now - found->second < kFreshMs;
}

void Witness::gateway_sent(const std::string& node, const Request& request, Millis now) {
  if (!request.proof.empty() && gateway_.alive != nullptr) {
    proofs_given_[{node, request.proof}] = gateway_.alive->identity().id;
  }
  const auto said = said_.find(node);
  if (request.gateway_id.term > std::max(explained_term_, said == said_.end() ? 0 : said->second + 1)) {
    news_.unproven.push_back("node " + node + " is sent term " + std::to_string(request.gateway_id.term) +
                             ", which it has not named");
  }
  if (request.type == RequestType::list) names_.note_list_asked(node, request.list_id);
  if (request.uid.empty()) return;
  ++requests_sent_;
  const PlacementId named{request.uid, request.epoch};
  const bool is_first = asked_.try_emplace({request.type, named}, now).second;
  if (is_first && request.type == RequestType::pre_bind) {
    check_passed_over(node, request, now);
    check_refused(node, request, gateway_clock_->now());
    check_able(node, request);
  }
  if (!is_fresh(request.type, named, now)) ++late_resends_;
  if (request.type == RequestType::pre_bind) note_epoch(request.gateway_id, request.epoch, request.uid, node);
  if (request.type == RequestType::bind) {
    news_.binds_sent.push_back({{request.uid, request.epoch}, node, request.incarnation});
  }
}

Answer Witness::with_uid(Answer answer) const {
  if (!answer.uid.empty()) return answer;
  const auto owner = owner_of_.find({answer.gateway_id.store_id, answer.epoch});
  if (owner != owner_of_.end()) {
    answer.uid = owner->second.first;
    return answer;
  }
  for (const auto& [uid, row] : gateway_.rows) {  // begun under the store id that the copy had
    if (row.epoch == answer.epoch && gateway_.from_copy.contains(show(uid, row.epoch))) answer.uid = uid;
  }
  return answer;
}

Request Witness::with_uid(Request request) const {
  if (request.via.empty() || !request.uid.empty()) return request;
  Answer same;
  same.gateway_id = request.gateway_id;
  same.epoch = request.epoch;
  request.uid = with_uid(std::move(same)).uid;
  return request;
}

void Witness::device_sent(const Answer& answer) {
  if (at_device_ && answer.uid == at_device_->request.uid && answer.epoch == at_device_->request.epoch) {
    const bool equivalent = answer.type != AnswerType::pre_bound && answer.type != AnswerType::bound;
    if (equivalent) ++at_device_->answers;
  }
  const bool final =
      answer.type == AnswerType::released || answer.type == AnswerType::rejected || answer.type == AnswerType::stale;
  if (!final) return;
  finals_[{answer.node, answer.uid}].push_back({answer.type, answer.epoch, answer.incarnation});
  scope_.uids.insert(answer.uid);
}

bool Witness::is_final(const std::string& node, const PlacementId& named, const std::string& incarnation) const {
  const auto found = finals_.find({node, named.first});
  if (found == finals_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Final& known) {
    return known.epoch == named.second && (incarnation.empty() || known.incarnation == incarnation);
  });
}

void Witness::gateway_received(const Answer& answer) {
  if (!answer.at.is_zero()) heard_of_[answer.node] = {answer.incarnation, answer.at};
  note_heard(answer.node, answer.incarnation);
  if (answer.type == AnswerType::hello) {
    hellos_.insert({answer.node, answer.to_incarnation, {answer.uid, answer.epoch}});
  }
  if (answer.type == AnswerType::superseded) note_superseded(answer);
  if (answer.type == AnswerType::slots) note_obeyed_before(answer);
  note_refused(answer);
  if (answer.type == AnswerType::slots && answer.page + 1 == answer.pages) {
    names_.note_listing(answer.node, answer.list_id);
  }
  if (answer.type != AnswerType::pre_bound) return;
  prebound_received_.insert({answer.uid, answer.epoch});
  passed_over_.erase(answer.node);
}

}  // namespace berth::sim
