#include "core/placement/kept_output.h"

#include <utility>

namespace berth {

bool KeptOutput::is_wanted(Objects& objects, std::string_view uid) {
  const PodEntry* entry = objects.pods().find_by_uid(uid);
  return entry != nullptr && entry->finished && !entry->deleting;
}

void KeptOutput::take(const Answer& kept) {
  if (!is_present(kept.node, kept.incarnation)) return;
  if (!context_.identity->adopting) return judge(kept.node, kept.uid, kept.epoch);
  // Before all nodes have answered it is not known which objects there are (P8).
  if (waiting_.size() < kWaitingMax) waiting_.emplace(kept.node, kept.incarnation, kept.uid, kept.epoch);
}

// What went with the store of an earlier incarnation is not ended at the present one, which keeps nothing of it: a
// Release has it remember an epoch (N4) that was never its own, and may be above those that it is given.
void KeptOutput::adopt_mode_ended() {
  for (const auto& [node, incarnation, uid, epoch] : std::exchange(waiting_, {})) {
    if (is_present(node, incarnation)) judge(node, uid, epoch);
  }
}

bool KeptOutput::is_present(const std::string& node, const std::string& incarnation) const {
  const DeviceNode* device = context_.nodes.find(node);
  return device != nullptr && device->incarnation == incarnation;
}

void KeptOutput::judge(const std::string& node, const std::string& uid, const Epoch& epoch) {
  // A row or an entry of the release list sends the Release that is right for it.
  if (const Binding* binding = state_.find(uid); binding != nullptr && binding->row.node == node) return;
  const std::string prefix = node + "/" + uid + "/";
  const auto release = state_.releases.lower_bound(prefix);
  if (release != state_.releases.end() && release->first.starts_with(prefix)) return;
  if (is_wanted(context_.objects, uid)) {
    const Json observed = context_.objects.pods().find_by_uid(uid)->observed.json();
    if (observed.string_at("node") == node && observed.string_at("epoch") == to_text(epoch)) return;
  }
  end(node, uid, epoch);
}

void KeptOutput::pod_gone(const PodEntry& entry) {
  if (!entry.finished) return;
  const Json observed = entry.observed.json();
  const Result<Epoch> epoch = parse_epoch(observed.string_at("epoch"));
  const std::string node = observed.string_at("node");
  if (epoch && !node.empty()) end(node, entry.pod->uid(), *epoch);
}

void KeptOutput::end(const std::string& node, const std::string& uid, const Epoch& epoch) {
  const DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr || device->incarnation.empty()) return;
  Request request(RequestType::release);
  request.uid = uid;
  request.epoch = epoch;
  request.incarnation = device->incarnation;
  sender_.send(node, std::move(request));
}

}  // namespace berth
