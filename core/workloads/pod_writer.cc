#include "core/workloads/pod_writer.h"

#include <algorithm>
#include <utility>

#include "core/api/defaults.h"
#include "core/api/packed.h"
#include "core/api/timestamp.h"
#include "core/json/members.h"
#include "core/json/merge_patch.h"
#include "core/objects/made_pods.h"

namespace berth {
namespace {

WriteResult refused(std::string why) { return {WriteResult::Code::refused, std::move(why), {}}; }

WriteResult no_such_pod(const std::string& key) {
  return {WriteResult::Code::not_found, "pods \"" + key + "\" not found", {}};
}

}  // namespace

std::string generated_name(Random& random, std::string prefix) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::size_t kRandom = 5, kLongest = 63;
  std::string name = std::move(prefix);
  name.resize(std::min(name.size(), kLongest - kRandom));
  for (std::size_t i = 0; i < kRandom; ++i) name += kAlphabet[random.below(kAlphabet.size())];
  return name;
}

WriteResult PodWriter::create(std::string_view name_space, Json pod) {
  Json& metadata = *pod.find("metadata");
  metadata.set("namespace", name_space);
  std::string name = metadata.string_at("name");
  const auto is_taken = [&] { return context_.objects.pods().find(std::string(name_space) + "/" + name) != nullptr; };
  if (name.empty()) {
    do {
      name = generated_name(context_.random, metadata.string_at("generateName"));
    } while (is_taken());
    metadata.set("name", name);
  }
  if (is_taken()) return {WriteResult::Code::already_exists, "pods \"" + name + "\" already exists", name};
  if (Status has = context_.admission.capacity(); !has.is_success()) return refused(has.message());
  metadata.set("creationTimestamp", to_timestamp(std::max<Millis>(context_.clock.wall(), 0)));
  Json manifest = Json::object();
  manifest.set("apiVersion", "v1").set("kind", "Pod");
  for (const auto& [key, value] : pod.as_object()) manifest.set(key, value);
  mark_made_here(manifest);
  Result<PodAdmission::Admitted> admitted = placement_.pod_admission().admit(manifest, {}, false);
  if (!admitted) return refused("pods \"" + name + "\" is invalid: " + admitted.error().message());
  placement_.pods().create(admitted->pod);
  return {WriteResult::Code::done, {}, std::move(name)};
}

WriteResult PodWriter::patch(const std::string& key, const Json& merge) {
  PodEntry* entry = context_.objects.pods().find(key);
  if (entry == nullptr) return no_such_pod(key);
  Json manifest = entry->pod->manifest().json();
  apply_merge_patch(manifest, Json::object().set("metadata", member(merge, "metadata")));
  Result<Pod> decoded = decode_accepted_pod(manifest);
  if (!decoded) return refused(decoded.error().message());
  auto next = make_counted<Pod>(std::move(*decoded));
  next->metadata.deleting = entry->pod->metadata.deleting;
  next->preempted = entry->pod->preempted;
  share_parts(*next);
  placement_.pods().update(*entry, next);
  placement_.pods().finish_held_removal(key);
  return {};
}

// The grace period is the pod's own: its device stops it, however little time is asked for.
WriteResult PodWriter::remove(const std::string& key, const DeleteOptions& options) {
  PodEntry* entry = context_.objects.pods().find(key);
  if (entry == nullptr) return no_such_pod(key);
  if (!options.uid.empty() && entry->pod->uid() != options.uid) {
    return {WriteResult::Code::conflict, "the UID in the precondition does not match", {}};
  }
  if (!entry->deleting) placement_.pods().remove(*entry);
  return {};
}

}  // namespace berth
