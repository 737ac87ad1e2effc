#include "core/placement/kept_output.h"

#include <algorithm>

namespace berth {

bool KeptOutput::is_wanted(Objects& objects, std::string_view uid) {
  const PodEntry* entry = objects.pods().find_by_uid(uid);
  return entry != nullptr && entry->finished && !entry->deleting;
}

void KeptOutput::take(const Answer& kept) {
  // Before all nodes have answered it is not known which objects there are (P8).
  if (context_.identity->adopting) return;
  const DeviceNode* device = context_.nodes.find(kept.node);
  if (device == nullptr || device->incarnation != kept.incarnation) return;
  // A row or an entry of the release list sends the Release that is right for it.
  if (const Binding* binding = state_.find(kept.uid); binding != nullptr && binding->row.node == kept.node) return;
  const std::string prefix = kept.node + "/" + kept.uid + "/";
  const auto release = state_.releases.lower_bound(prefix);
  if (release != state_.releases.end() && release->first.starts_with(prefix)) return;
  if (is_wanted(context_.objects, kept.uid)) {
    const Json observed = context_.objects.pods().find_by_uid(kept.uid)->observed.json();
    const bool is_there = observed.string_at("node") == kept.node && observed.string_at("epoch") == to_text(kept.epoch);
    if (is_there) return;
  }
  end(kept.node, kept.uid, kept.epoch);
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
