// The operator's decisions in adopt mode and after it (P8, P15).
#include "core/gateway/api.h"
#include "core/gateway/api_reply.h"

namespace berth {

Json Api::adopt(const Json& request) {
  const Json* done = request.find("done");
  if (done != nullptr && *done == Json(true)) return end_adopt_mode();
  const KindName* kind = find_kind(api_text(request, "kind"));
  if (kind != nullptr && kind->kind == Kind::persistent_volume) {
    return adopt_volume(api_text(request, "name"), api_text(request, "node"));
  }
  if (kind == nullptr || kind->kind != Kind::pod) {
    return api_failure("kind: only a Pod or a PersistentVolume can be adopted");
  }
  return adopt_pod(api_pod_key(request), api_text(request, "node"));
}

// The device is asked what it holds, and with its answer the orphan is a pod again.
Json Api::adopt_pod(const std::string& key, const std::string& node) {
  std::vector<std::string> found;
  std::string nodes;
  for (const std::string& orphan : placement_.releases().orphans_named(key)) {
    const ReleaseEntry& entry = placement_.state().releases.at(orphan).entry;
    nodes += (nodes.empty() ? "" : ", ") + entry.node;
    if (node.empty() || entry.node == node) found.push_back(orphan);
  }
  const std::string what = "Pod \"" + key + "\"";
  if (nodes.empty()) return api_failure(what + " is no orphan on any node; berthctl get pods shows which are");
  if (found.empty()) return api_failure("node: " + what + " is an orphan on " + nodes + ", not on " + node);
  if (found.size() > 1) return api_failure("node: " + what + " is an orphan on several; name one of " + nodes);
  const std::string on = placement_.state().releases.at(found.front()).entry.node;
  placement_.releases().keep_orphan(found.front());
  Json reply = api_success().set("result", "adopted as soon as node " + on + " answers").set("key", key);
  const DeviceNode* device = context_.nodes.find(on);
  Json warnings = Json::array();
  if (device == nullptr || !device->reachable) warnings.push_back("node " + on + " is not connected");
  return reply.set("warnings", std::move(warnings));
}

// A directory that no volume names is one again, and its data stays.
Json Api::adopt_volume(const std::string& name, const std::string& node) {
  std::vector<OrphanVolumes::Orphan> found = placement_.orphan_volumes().named(name);
  const std::string what = "PersistentVolume \"" + name + "\"";
  if (found.empty()) return api_failure(what + " is no orphan on any node; berthctl get pv shows which are");
  std::string nodes;
  for (const OrphanVolumes::Orphan& each : found) nodes += (nodes.empty() ? "" : ", ") + each.node;
  if (!node.empty()) std::erase_if(found, [&node](const OrphanVolumes::Orphan& each) { return each.node != node; });
  if (found.empty()) return api_failure("node: " + what + " is an orphan on " + nodes + ", not on " + node);
  if (found.size() > 1) return api_failure("node: " + what + " is an orphan on several; name one of " + nodes);
  const std::string claim = placement_.orphan_volumes().claim_of(name);
  if (Status kept = placement_.orphan_volumes().keep(found.front(), "Retain"); !kept.is_success()) {
    return api_failure(kept.message());
  }
  // Whatever its size, of which the device may have no record: the data is the claim's.
  if (!claim.empty()) placement_.volumes().bind({claim, name, found.front().volume.path});
  placement_.volumes().join_halves(Kind::persistent_volume, name);
  const std::string phase = context_.objects.volume(name)->phase;
  return api_success().set("result", "adopted, " + phase).set("key", name).set("warnings", Json::array());
}

Json Api::end_adopt_mode() {
  if (!context_.identity->adopting) return api_failure("the gateway is not in adopt mode: nothing waits for it to end");
  if (!context_.mirror.barrier().is_synced()) {
    return api_failure("the gateway is still learning from the broker which nodes there are; try again");
  }
  Json unanswered = Json::array();
  Json warnings = Json::array();
  for (const std::string& node : placement_.adopt_mode().end_by_operator()) unanswered.push_back(node);
  if (!unanswered.as_array().empty()) {
    warnings.push_back(
        "these nodes have not answered: pods that they still run may be placed a second time; what they run when they "
        "connect stays, and without an object it is shown as Orphan");
  }
  Json reply = api_success();
  reply.set("result", "ended").set("unanswered", std::move(unanswered));
  return reply.set("warnings", std::move(warnings));
}

}  // namespace berth
