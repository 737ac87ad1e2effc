#include "core/placement/provisioned_volumes.h"

#include <algorithm>
#include <utility>

#include "core/api/decode.h"
#include "core/api/volume.h"
#include "core/check.h"
#include "core/objects/reserved_labels.h"
#include "core/objects/volume_manifest.h"

namespace berth {

namespace {

// Annotation of a volume: the claim that its directory was made for.
constexpr std::string_view kMadeForClaim = "berth/made-for-claim";

Json made_on(const std::string& node) {
  Json annotations = Json::object();
  return annotations.set(kProvisionedBy, StorageClass::kLocalProvisioner).set(kOfferedBy, node);
}

// As the claim asks for it, since an external provisioner's volume of that claim would be the same.
Json manifest_for(const BoundVolume& made, const std::string& node, const PersistentVolumeClaim& claim,
                  const std::string& reclaim_policy) {
  Json modes = Json::array();
  for (const std::string& mode : claim.access_modes) modes.push_back(mode);
  return manifest_of({made.volume, node, made.make->storage_class, made.path, Quantity(made.make->bytes).to_text(),
                      reclaim_policy, std::move(modes), made_on(node)});
}

bool names(const std::vector<BoundVolume>& bound_volumes, const std::string& volume) {
  return std::any_of(bound_volumes.begin(), bound_volumes.end(),
                     [&volume](const BoundVolume& each) { return each.volume == volume; });
}

}  // namespace

ProvisionedVolumes::~ProvisionedVolumes() {
  for (auto& [volume, resend] : resends_) context_.timers.cancel(resend.timer);
}

std::vector<std::string> volumes_to_make(const Row& row) {
  std::vector<std::string> volumes;
  for (const BoundVolume& each : row.volumes) {
    if (each.make) volumes.push_back(each.volume);
  }
  return volumes;
}

// The claim that it was given to may have moved to another volume, with a pod that still runs with this one: then it
// waits for the operator, as every volume in doubt.
bool is_reclaimed(const Objects& objects, const PersistentVolume& volume) {
  if (volume.phase != "Released" || volume.reclaim_policy != "Delete" || maker_of(volume).empty()) return false;
  const auto claim = objects.claim(volume.claim_ref);
  return claim == nullptr || claim->metadata.uid != volume.claim_ref_uid;
}

void ProvisionedVolumes::make_objects(const Row& row) {
  for (const BoundVolume& made : row.volumes) {
    const auto claim = context_.objects.claim(made.claim);
    if (!made.make || claim == nullptr || context_.objects.volume(made.volume) != nullptr) continue;
    if (!claim->volume_name.empty() && claim->volume_name != made.volume) continue;
    const auto storage_class = context_.objects.storage_class(made.make->storage_class);
    // Of a class that is gone nobody knows: then the data stays.
    const std::string policy = storage_class == nullptr ? "Retain" : storage_class->reclaim_policy;
    Json manifest = manifest_for(made, row.node, *claim, policy);
    add_object(std::move(manifest));
    context_.events.record({Kind::persistent_volume_claim,
                            made.claim,
                            "Normal",
                            "ProvisioningSucceeded",
                            "Successfully provisioned volume " + made.volume,
                            {}});
  }
}

void ProvisionedVolumes::add_object(Json manifest) {
  manifest.find("metadata")->set("uid", context_.random.hex_id());
  Result<PersistentVolume> volume = decode_persistent_volume(manifest, nullptr, Rules::off);
  CHECK(volume.has_value());
  const std::string name = volume->metadata.name;
  EventObjects objects;
  context_.objects.put(std::move(*volume));
  note_new(objects, context_.objects, Kind::persistent_volume, name);
  context_.publisher.mark(Kind::persistent_volume, name);
  context_.publisher.mirror(Kind::persistent_volume, name);
  changes_.wake(*event_of(Kind::persistent_volume, kAdd), objects);
}

// Which claim it belonged to is for people: the claim of that name may be another one by now.
void ProvisionedVolumes::add_found(const std::string& node, const std::string& storage_class, const KeptVolume& kept,
                                   const std::string& reclaim_policy, const std::string& phase) {
  // The device may have no record of its size, and a volume of none would be refused when it is read again.
  const std::int64_t bytes = std::max<std::int64_t>(kept.bytes, 1);
  Json manifest = manifest_of({kept.volume, node, storage_class, kept.path, Quantity(bytes).to_text(), reclaim_policy,
                               Json(Json::Array{Json("ReadWriteOnce")}), made_on(node)});
  if (!kept.claim.empty()) {
    manifest.find("metadata")->find("annotations")->set(kMadeForClaim, kept.claim);
  }
  manifest.set("status", Json(Json::Object{{"phase", Json(phase)}}));
  add_object(std::move(manifest));
  reclaim_volume(kept.volume);
}

// Type, reason and message as sig-storage-lib-external-provisioner has them (controller.go). The pod may have been
// rejected for anything else.
void ProvisionedVolumes::tell_rejected(const Row& row, const std::string& reason) {
  for (const BoundVolume& each : row.volumes) {
    if (!each.make || reason.find(each.volume) == std::string::npos) continue;
    context_.events.record({Kind::persistent_volume_claim, each.claim, "Warning", "ProvisioningFailed",
                            "failed to provision volume with StorageClass \"" + each.make->storage_class + "\": node " +
                                std::string(row.node) + ": " + reason,
                            row.node});
  }
}

bool ProvisionedVolumes::is_named(const std::string& node, const std::string& volume) const {
  const LiveEpochs::Epochs* live = state_.epochs.of(node);
  if (live == nullptr) return false;
  return std::any_of(live->begin(), live->end(), [&](const auto& held) {
    ++looked_at_;
    const Binding* binding = state_.find(held.second);
    const bool is_row = binding != nullptr && binding->row.node == node && binding->row.epoch == held.first;
    if (is_row && names(binding->row.volumes, volume)) return true;
    const auto release = state_.releases.find(release_key(node, held.second, held.first));
    return release != state_.releases.end() && names(release->second.entry.volumes, volume);
  });
}

// No claim was given it.
bool ProvisionedVolumes::is_needless(const std::string& node, const std::string& volume) const {
  const auto known = context_.objects.volume(volume);
  return (known == nullptr || maker_of(*known) != node) && !is_named(node, volume);
}

bool ProvisionedVolumes::is_to_be_deleted(const PersistentVolume& volume) const {
  return is_reclaimed(context_.objects, volume) && !is_named(maker_of(volume), volume.metadata.name);
}

void ProvisionedVolumes::take_unused(const std::string& node, const std::vector<std::string>& volumes) {
  for (const std::string& volume : volumes) {
    if (is_needless(node, volume)) ask(node, volume, {});
  }
}

void ProvisionedVolumes::reclaim(const std::string& node) {
  for (const std::string& volume : context_.objects.volumes_made_by(node)) {
    ++looked_at_;
    reclaim_volume(volume);
  }
}

void ProvisionedVolumes::reclaim_volume(const std::string& volume) {
  const auto known = context_.objects.volume(volume);
  if (known == nullptr || !is_reclaimed(context_.objects, *known)) return;
  resends_[volume].sent = 0;
  ask_again(volume);
}

// Until the answer comes, or somebody else has decided otherwise. What ends yet on the device may hold it.
void ProvisionedVolumes::ask_again(const std::string& volume) {
  Resend& resend = resends_.at(volume);
  context_.timers.cancel(resend.timer);
  const auto known = context_.objects.volume(volume);
  if (known == nullptr || !is_reclaimed(context_.objects, *known)) {
    resends_.erase(volume);
    std::erase_if(asked_, [&volume](const auto& each) { return each.first.second == volume; });
    return;
  }
  if (is_to_be_deleted(*known)) ask(maker_of(*known), volume, known->local_path);
  sender_.arm_resend(resend.timer, resend.sent, [this, volume] {
    resends_.at(volume).timer = 0;
    ask_again(volume);
  });
}

// P18: in adopt mode nobody knows what is needed.
void ProvisionedVolumes::ask(const std::string& node, const std::string& volume, const std::string& path) {
  const DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr || device->incarnation.empty() || context_.identity->adopting) return;
  Request request(RequestType::delete_volume);
  request.incarnation = device->incarnation;
  request.volume = volume;
  request.path = path;
  request.epoch = {context_.nodes.id_towards(node, context_.identity->id).term, context_.store.next_position()};
  // Of an unused one no answer matters: it is gone, or is told again.
  if (!path.empty()) asked_[{node, volume}] = request.epoch;
  sender_.send(node, std::move(request), [this, node, volume] {
    const auto known = context_.objects.volume(volume);
    return known != nullptr && maker_of(*known) == node ? is_to_be_deleted(*known) : is_needless(node, volume);
  });
}

bool ProvisionedVolumes::take_answer(const Answer& answer) {
  const auto asked = asked_.find({answer.node, answer.volume});
  const DeviceNode* device = context_.nodes.find(answer.node);
  const bool is_ours = asked != asked_.end() && asked->second == answer.epoch && device != nullptr &&
                       device->incarnation == answer.incarnation &&
                       answer.gateway_id.store_id == context_.identity->id.store_id;
  if (!is_ours) return false;
  asked_.erase(asked);
  context_.log.write(Level::info, "volume deleted", {{"volume", answer.volume}, {"node", answer.node}});
  const auto volume = context_.objects.volume(answer.volume);
  if (volume == nullptr || maker_of(*volume) != answer.node || !is_to_be_deleted(*volume)) return true;
  if (const auto resend = resends_.find(answer.volume); resend != resends_.end()) {
    context_.timers.cancel(resend->second.timer);
    resends_.erase(resend);
  }
  changes_.erase(Kind::persistent_volume, answer.volume);
  changes_.wake_capacity();
  return true;
}

}  // namespace berth
