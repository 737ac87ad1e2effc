#include "core/workloads/claim_writer.h"

#include <utility>

#include "core/api/volume.h"
#include "core/json/field_reader.h"
#include "core/json/members.h"
#include "core/json/merge_patch.h"

namespace berth {
namespace {

ObjectPtr metadata_of(const PersistentVolumeClaim& claim) {
  auto object = std::make_shared<ControlledObject>(ClaimWriter::kKind);
  Findings findings(Rules::off);
  FieldReader reader(claim.manifest, "", findings);
  decode::read_workload_head(reader, "v1", *object);
  static_cast<ObjectMeta&>(object->metadata) = claim.metadata;
  // It goes when no pod uses it any more.
  if (claim.metadata.deleting && !object->metadata.deletion) object->metadata.deletion = 0;
  return object;
}

}  // namespace

ObjectPtr ClaimWriter::find(const std::string& key) const {
  const auto claim = context_.objects.find<PersistentVolumeClaim>(key);
  return claim == nullptr ? nullptr : metadata_of(*claim);
}

std::vector<ObjectPtr> ClaimWriter::list(std::string_view name_space) const {
  std::vector<ObjectPtr> found;
  for (const auto& [key, claim] : context_.objects.all<PersistentVolumeClaim>()) {
    if (name_space.empty() || claim->metadata.namespace_ == name_space) found.push_back(metadata_of(*claim));
  }
  return found;
}

WriteResult ClaimWriter::apply(const Json& manifest, std::string name) {
  const Result<Accepted> accepted = placement_.objects().accept(Kind::persistent_volume_claim, manifest, {});
  if (!accepted) return {WriteResult::Code::refused, accepted.error().message(), {}};
  return {WriteResult::Code::done, {}, std::move(name)};
}

WriteResult ClaimWriter::create(std::string_view name_space, Json claim) {
  Json& metadata = *claim.find("metadata");
  metadata.set("namespace", name_space);
  const std::string name = metadata.string_at("name");
  if (find(std::string(name_space) + "/" + name) != nullptr) {
    return {WriteResult::Code::already_exists, "persistentvolumeclaims \"" + name + "\" already exists", name};
  }
  Json manifest = Json::object();
  manifest.set("apiVersion", "v1").set("kind", kKind);
  for (const auto& [key, value] : claim.as_object()) manifest.set(key, value);
  return apply(manifest, name);
}

WriteResult ClaimWriter::patch(const std::string& key, const Json& merge) {
  const auto claim = context_.objects.find<PersistentVolumeClaim>(key);
  if (claim == nullptr) return {WriteResult::Code::not_found, "persistentvolumeclaims \"" + key + "\" not found", {}};
  Json manifest = claim->manifest;
  apply_merge_patch(manifest, Json::object().set("metadata", member(merge, "metadata")));
  WriteResult written;
  context_.mirror.apply_unretained(Kind::persistent_volume_claim, key, [&] { written = apply(manifest, {}); });
  return written;
}

WriteResult ClaimWriter::remove(const std::string& key, const DeleteOptions& options) {
  const auto claim = context_.objects.find<PersistentVolumeClaim>(key);
  if (claim == nullptr) return {WriteResult::Code::not_found, "persistentvolumeclaims \"" + key + "\" not found", {}};
  if (!options.uid.empty() && claim->metadata.uid != options.uid) {
    return {WriteResult::Code::conflict, "the UID in the precondition does not match", {}};
  }
  placement_.volumes().begin_delete(Kind::persistent_volume_claim, key);
  return {};
}

}  // namespace berth
