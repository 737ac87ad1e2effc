#include "core/controllers/revisions.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "core/controllers/ownership.h"
#include "core/json/canonical.h"
#include "core/json/members.h"

namespace berth {
namespace {

constexpr std::size_t kLongestPrefix = 223;
constexpr std::string_view kPatch = "$patch";

auto order_of(const RevisionPtr& revision) {
  const WorkloadMeta& metadata = revision->metadata;
  return std::tuple(revision->revision, metadata.created.value_or(0), std::string_view(metadata.name));
}

}  // namespace

std::string revision_label(const ControlledObject& object) {
  const Labels& labels = object.metadata.labels.get();
  const auto found = labels.find(std::string(kRevisionLabel));
  return found == labels.end() ? "" : found->second;
}

void sort_revisions(std::vector<RevisionPtr>& revisions) {
  std::sort(revisions.begin(), revisions.end(),
            [](const RevisionPtr& a, const RevisionPtr& b) { return order_of(a) < order_of(b); });
}

std::int64_t next_revision(const std::vector<RevisionPtr>& revisions) {
  std::int64_t highest = 0;
  for (const RevisionPtr& each : revisions) highest = std::max(highest, each->revision);
  return highest + 1;
}

Json revision_data(const PodTemplate& pod_template) {
  Json pods = pod_template.json.get();
  pods.set(kPatch, "replace");
  return Json::object().set("spec", Json::object().set("template", std::move(pods)));
}

bool has_data(const ControllerRevision& revision, const Json& data) { return is_same(revision.data.get(), data); }

PodTemplate revision_template(const ControllerRevision& revision) {
  Json pods = member(member(revision.data.get(), "spec"), "template");
  pods.erase(kPatch);
  PodTemplate pod_template;
  pod_template.json = SharedPart<Json>(Shared<Json>(std::move(pods)));
  return pod_template;
}

std::string revision_name(const ControlledObject& owner, std::string_view hash) {
  return owner.metadata.name.substr(0, kLongestPrefix) + "-" + std::string(hash);
}

Json revision_manifest(const ControlledObject& owner, std::string_view owner_api_version,
                       const PodTemplate& pod_template, std::int64_t revision, std::string_view hash_label,
                       std::string_view hash) {
  Labels labels = pod_template.labels.get();
  labels[std::string(hash_label)] = hash;
  Json metadata = Json::object();
  metadata.set("name", revision_name(owner, hash)).set("labels", to_json(labels));
  if (!owner.metadata.annotations.empty()) metadata.set("annotations", to_json(owner.metadata.annotations.get()));
  metadata.set("ownerReferences", to_json(std::vector{controller_reference(owner, owner_api_version)}));
  Json manifest = Json::object();
  manifest.set("metadata", std::move(metadata)).set("data", revision_data(pod_template)).set("revision", revision);
  return manifest;
}

RevisionPtr find_revision(const ClusterAccess& cluster, const ControlledObject& owner, const std::string& name) {
  return find_as<ControllerRevision>(cluster, ControllerRevision::kKind,
                                     {std::string(owner.metadata.namespace_), name});
}

Status renumber(ClusterAccess& cluster, RevisionPtr& revision, std::int64_t number) {
  if (revision->revision == number) return Status::ok();
  const WriteResult written = cluster.patch(*revision, Json::object().set("revision", number));
  if (!written.is_done()) return Status::error(written.message);
  auto changed = std::make_shared<ControllerRevision>(*revision);
  changed->revision = number;
  revision = std::move(changed);
  return Status::ok();
}

Status delete_revision(ClusterAccess& cluster, const ControllerRevision& revision) {
  const WriteResult deleted = cluster.remove(revision, {});
  if (deleted.is_done() || deleted.code == WriteResult::Code::not_found) return Status::ok();
  return Status::error(deleted.message);
}

}  // namespace berth
