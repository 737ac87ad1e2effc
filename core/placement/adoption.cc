#include "core/placement/adoption.h"

#include <map>
#include <set>
#include <utility>

#include "core/api/defaults.h"
#include "core/api/names.h"
#include "core/objects/accepting.h"

namespace berth {

namespace {

bool is_ours(const PlacementContext& context, const std::string& node, const Epoch& epoch) {
  return context.nodes.is_given(node, epoch, context.identity->terms);
}

}  // namespace

std::string Adoption::name_of(const SlotReport& slot) {
  const Result<Json> manifest = Json::parse(slot.pod);
  const std::string key = manifest ? key_of(Kind::pod, *manifest) : std::string();
  const std::size_t slash = key.find('/');
  const bool is_valid =
      slash != std::string::npos && is_valid_name(key.substr(0, slash)) && is_valid_name(key.substr(slash + 1));
  return is_valid ? key : "default/" + slot.uid;
}

// Where slots are believed that only the device can explain: in adopt mode, and later of nodes for which the operator
// did not wait any longer. At any other time a device that lies could take names, and make pods without end.
bool Adoption::is_open(const std::string& node) const {
  return context_.identity->adopting || context_.identity->late.contains(node);
}

bool Adoption::is_placed(const PodEntry& entry) const {
  const Binding* binding = parts_.state.find(entry.pod->uid());
  return binding != nullptr && binding->row.phase != Phase::none;
}

void Adoption::tell(const std::string& pod, const char* type, const char* reason, const std::string& message) const {
  context_.events.record({Kind::pod, pod, type, reason, message, {}});
}

Adoption::Found Adoption::find_object(const std::string& node, const SlotReport& slot, const std::string& key) {
  const bool is_kept = context_.identity->kept.contains(key);
  if (!is_kept && !is_open(node)) return Found::none;
  const Result<CountedPtr<Pod>> admitted = parts_.admission.admit_found(slot);
  if (!admitted) {
    log_refused(context_.log, "what node " + node + " holds of pod " + slot.uid, admitted.error().message());
    context_.identity.erase(&Identity::kept, key);
    return Found::none;
  }
  const CountedPtr<Pod>& found = *admitted;
  const std::string name = found->metadata.key();
  PodEntry* same = context_.objects.pods().find(name);
  if (same == nullptr) {
    if (!context_.admission.capacity().is_success()) return Found::no_capacity;
    parts_.pods.create(found);
    tell(name, "Normal", "Adopted", "found on node " + node + "; its object was made from what the device holds");
    return Found::object;
  }
  // Its name is about to be free, or another's.
  if (same->deleting) return Found::none;
  if (is_placed(*same)) {
    if (!is_kept) return Found::none;
    displace(*same, slot);
    same = context_.objects.pods().find(name);
  }
  take_name(*same, node, found);
  return Found::object;
}

// The pod's placement is given up for the slot that keeps the name.
void Adoption::displace(const PodEntry& entry, const SlotReport& slot) {
  const std::string uid = entry.pod->uid();
  Binding& binding = *parts_.state.find(uid);
  parts_.volumes.displace(binding.row, slot.volumes);
  if (binding.row.phase == Phase::prebind) {
    return parts_.lifecycle.feed(uid, RowEvent::leave, "a pod of this name was found on a node");
  }
  context_.store.erase(Table::row, uid);
  parts_.lifecycle.drop(binding);
}

// The operator's object becomes that of the found pod: as an update of it, as far as a pod can be updated.
void Adoption::take_name(PodEntry& entry, const std::string& node, const CountedPtr<Pod>& found) {
  const std::string name = found->metadata.key();
  const std::string why = "the pod was found on node " + node;
  if (parts_.state.find(entry.pod->uid()) != nullptr) {  // it waits, on Permit or for a busy node
    parts_.lifecycle.give_up_waiting(entry.pod->uid(), why, why);
    parts_.lifecycle.deliver_permits();
  }
  const Result<CountedPtr<Pod>> updated = parts_.admission.update_found(*found, *entry.pod);
  context_.objects.pods().set_successor(entry, (updated ? *updated : found)->manifest());
  parts_.pods.finish_removal(name);
  tell(name, "Normal", "Adopted", "found on node " + node + "; the pod that was applied meanwhile is an update of it");
  if (!updated) tell(name, "Warning", "NotUpdated", updated.error().message());
}

void Adoption::reconcile(const std::string& node, const SlotReport& slot, PodEntry& entry) {
  const Result<Json> held = Json::parse(slot.pod);
  if (!held) return;
  Json manifest = as_accepted(Kind::pod, *held);
  if (Json* metadata = object_at(manifest, "metadata")) metadata->set("uid", slot.uid);
  Result<Pod> decoded = decode_accepted_pod(manifest);
  if (!decoded || decoded->metadata.key() != entry.pod->metadata.key()) return;
  const auto found = make_counted<Pod>(std::move(*decoded));
  const Result<CountedPtr<Pod>> updated = parts_.admission.update_found(*found, *entry.pod);
  if (updated) return;
  const std::string name = entry.pod->metadata.key();
  // Scheduling has no place for a pod without a profile: the object stays as it was applied.
  if (!parts_.admission.has_profile(*found)) {
    return tell(name, "Warning", "NotUpdated",
                "node " + node + " runs it already, for profile \"" + found->spec->scheduler_name +
                    "\", which this gateway does not have");
  }
  parts_.pods.update(entry, found);
  tell(name, "Warning", "NotUpdated", "node " + node + " runs it already: " + updated.error().message());
}

void Adoption::describe(const SlotReport& slot, ReleaseEntry& found) const {
  found.pod = name_of(slot);
  found.holds_name = is_open(found.node);
}

void Adoption::settle_names() {
  // There may be thousands of orphans, and few of them have the name of a pod.
  std::map<std::string, std::vector<std::string>> keys;
  std::set<std::string> held;
  for (const std::string& key : context_.identity->orphans) {
    const ReleaseEntry& orphan = parts_.state.releases.at(key).entry;
    keys[orphan.pod].push_back(key);
    if (orphan.holds_name) held.insert(orphan.pod);
  }
  for (const std::string& name : held) settle_name(name, keys.at(name));
}

// Only what this store placed itself gives way. Of two that earlier stores placed, nobody knows which one was meant,
// and a device that lies could end the other's.
void Adoption::settle_name(const std::string& name, const std::vector<std::string>& orphans) {
  const PodEntry* entry = context_.objects.pods().find(name);
  if (entry == nullptr || entry->deleting || orphans.size() != 1) return;
  const ReleaseEntry orphan = parts_.state.releases.at(orphans.front()).entry;
  if (orphan.uid == entry->pod->uid()) return;
  if (!is_placed(*entry)) return parts_.releases.keep_orphan(orphans.front());
  const Row& row = parts_.state.find(entry->pod->uid())->row;
  const std::string placed_on = row.node;
  SameName stays = context_.options.same_name;
  if (!is_ours(context_, placed_on, row.epoch) || is_ours(context_, orphan.node, orphan.epoch)) stays = SameName::ask;
  const std::string which = "node " + orphan.node + " runs a pod of this name from before the store was lost";
  switch (stays) {
    case SameName::older:
      tell(name, "Warning", "Displaced", which + ", which stays; the placement on node " + placed_on + " ends");
      return parts_.releases.keep_orphan(orphans.front());
    case SameName::newer:
      tell(name, "Warning", "OlderReleased", which + ", which is released");
      return parts_.releases.release_orphan(orphans.front());
    case SameName::ask:
      return tell(name, "Warning", "SameName",
                  which + ", and it is placed on node " + placed_on +
                      ": keep the older with berthctl adopt pod, or end both with delete");
  }
}

}  // namespace berth
