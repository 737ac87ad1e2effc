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

std::size_t bytes_of(const KeptVolume& volume) {
  return volume.volume.size() + volume.path.size() + volume.claim.size() + 80;
}

}  // namespace

void Listing::start(const NodeState& state, const std::vector<KeptVolume>& kept, std::uint64_t list_id) {
  list_id_ = list_id;
  pages_.assign(1, {});
  last_bytes_ = 0;
  for (const auto& [uid, slot] : state.slots) page_for(bytes_of(uid, slot)).slots.emplace_back(uid, slot.epoch);
  for (const KeptVolume& volume : kept) page_for(bytes_of(volume)).volumes.push_back(volume);
}

// The page for something of that size.
Listing::Page& Listing::page_for(std::size_t bytes) {
  if (last_bytes_ > 0 && last_bytes_ + bytes > kPageBytes) {
    pages_.emplace_back();
    last_bytes_ = 0;
  }
  last_bytes_ += bytes;
  return pages_.back();
}

Answer Listing::page(const NodeState& state, const Request& request, const std::vector<KeptVolume>& kept) {
  std::uint32_t index = request.page;
  const bool known = list_id_ == request.list_id && asked_by_ == request.gateway_id;
  if (!known || index >= pages_.size()) {
    start(state, kept, request.list_id);
    asked_by_ = request.gateway_id;
    index = 0;
  }
  Answer answer(AnswerType::slots);
  answer.incarnation = state.incarnation;
  answer.gateway_id = request.gateway_id;
  answer.page = index;
  answer.pages = static_cast<std::uint32_t>(pages_.size());
  answer.list_id = list_id_;
  answer.kept_volumes = pages_[index].volumes;
  for (const auto& [uid, epoch] : pages_[index].slots) {
    const auto slot = state.slots.find(uid);
    if (slot == state.slots.end() || slot->second.epoch != epoch) continue;
    answer.slots.push_back({uid, epoch, slot->second.state, slot->second.pod, slot->second.volumes});
  }
  return answer;
}

}  // namespace berth
