#include "core/agent/listing.h"

namespace berth {

namespace {

// An upper bound of the bytes that a slot adds to a page, including member names and the longest state name.
std::size_t bytes_of(const std::string& uid, const Slot& slot) {
  std::size_t bytes = uid.size() + slot.pod.size() + 160;
  for (const BoundVolume& bound : slot.volumes) {
    bytes += bound.claim.size() + bound.volume.size() + bound.path.size() + 48;
  }
  return bytes;
}

}  // namespace

void Listing::start(const NodeState& state, std::uint64_t list_id) {
  list_id_ = list_id;
  pages_.assign(1, {});
  std::size_t bytes = 0;
  for (const auto& [uid, slot] : state.slots) {
    const std::size_t more = bytes_of(uid, slot);
    if (bytes + more > kPageBytes && !pages_.back().empty()) {
      pages_.emplace_back();
      bytes = 0;
    }
    pages_.back().emplace_back(uid, slot.epoch);
    bytes += more;
  }
}

Answer Listing::page(const NodeState& state, const Request& request) {
  std::uint32_t index = request.page;
  const bool known = list_id_ == request.list_id && asked_by_ == request.gateway_id;
  if (!known || index >= pages_.size()) {
    start(state, request.list_id);
    asked_by_ = request.gateway_id;
    index = 0;
  }
  Answer answer(AnswerType::slots);
  answer.incarnation = state.incarnation;
  answer.gateway_id = request.gateway_id;
  answer.page = index;
  answer.pages = static_cast<std::uint32_t>(pages_.size());
  answer.list_id = list_id_;
  for (const auto& [uid, epoch] : pages_[index]) {
    const auto slot = state.slots.find(uid);
    if (slot == state.slots.end() || slot->second.epoch != epoch) continue;
    answer.slots.push_back({uid, epoch, slot->second.state, slot->second.pod, slot->second.volumes});
  }
  return answer;
}

}  // namespace berth
