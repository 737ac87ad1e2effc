#include "firmware-host/agent/volumes/volume_plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "core/api/features.h"
#include "core/api/names.h"
#include "core/api/read_quantity.h"
#include "core/json/field_reader.h"
#include "core/json/members.h"
#include "firmware-host/agent/oci/pod_limits.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 7> kHostPathTypes{"Directory", "DirectoryOrCreate", "File",       "FileOrCreate",
                                                         "Socket",    "CharDevice",        "BlockDevice"};

bool climbs(const std::string& path) { return ("/" + path + "/").find("/../") != std::string::npos; }

class VolumePlanner {
 public:
  VolumePlanner(const PodFacts& facts, const std::vector<BoundVolume>& bound, const std::string& pod_directory)
      : facts_(facts), spec_(member(facts.pod, "spec")), bound_(bound), pod_directory_(pod_directory) {}

  Result<std::vector<VolumePlan>> plan() {
    if (Status read = read_group(); !read.is_success()) return read;
    std::vector<VolumePlan> plans;
    std::set<std::string> names;
    const Json::Array& volumes = list_of(spec_, "volumes");
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      path_ = item_path("spec.volumes", i);
      VolumePlan plan;
      plan.name = volumes[i].string_at("name");
      if (!is_dns_label(plan.name)) {
        return Status::error(path_ + ".name: must be lower-case letters, digits and '-', at most 63");
      }
      if (!names.insert(plan.name).second) return Status::error(path_ + ".name: another volume has it too");
      plan.path = pod_directory_ + "/volumes/" + plan.name;
      if (Status read = read_source(volumes[i], plan); !read.is_success()) return read;
      plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  Status read_group() {
    const Json& context = member(spec_, "securityContext");
    const Json& group = member(context, "fsGroup");
    if (group.is_null()) return Status::ok();
    if (!group.is_integer() || group.as_int() < 0 || group.as_int() > INT32_MAX) {
      return Status::error("spec.securityContext.fsGroup: must be a number between 0 and 2147483647");
    }
    const std::string policy = context.string_at("fsGroupChangePolicy");
    if (!policy.empty() && policy != "Always" && policy != "OnRootMismatch") {
      return Status::error("spec.securityContext.fsGroupChangePolicy: expected Always or OnRootMismatch, got '" +
                           policy + "'");
    }
    group_ = VolumeGroup{static_cast<gid_t>(group.as_int()), policy == "OnRootMismatch"};
    return Status::ok();
  }

  // For what is made for this pod alone, the policy has no meaning (empty_dir.go SetUpAt passes none).
  std::optional<VolumeGroup> own_group() const {
    return group_ ? std::optional<VolumeGroup>(VolumeGroup{group_->group, false}) : std::nullopt;
  }

  Status read_source(const Json& volume, VolumePlan& plan) {
    if (is_projected(volume)) return read_projected(volume, plan);
    if (const Json& claim = member(volume, "persistentVolumeClaim"); claim.is_object()) {
      plan.read_only = member(claim, "readOnly") == Json(true);
      return use_claim(claim.string_at("claimName"), plan);
    }
    if (member(volume, "ephemeral").is_object()) {
      return use_claim(member(facts_.pod, "metadata").string_at("name") + "-" + plan.name, plan);
    }
    if (const Json& host = member(volume, "hostPath"); host.is_object()) return read_host_path(host, plan);
    if (const Json& empty_dir = member(volume, "emptyDir"); empty_dir.is_object()) {
      return read_empty_dir(empty_dir, plan);
    }
    for (const auto& [source, value] : volume.as_object()) {
      if (source == "name" || value.is_null()) continue;
      return Status::error(path_ + "." + source + ": not supported by node " + facts_.node +
                           "; use persistentVolumeClaim, ephemeral, hostPath, emptyDir, configMap, secret, "
                           "downwardAPI or projected");
    }
    // As in Kubernetes, where a source that is null counts as absent: "emptyDir:" without "{}" is such a volume.
    return read_empty_dir(Json::object(), plan);
  }

  Status read_projected(const Json& volume, VolumePlan& plan) {
    Result<Projection> projection = read_projection(facts_, volume, path_);
    if (!projection) return projection.error();
    plan.kind = VolumePlan::Kind::projected;
    plan.projection = std::move(*projection);
    plan.read_only = true;  // since 1.9.4: what was changed there would be lost with the next update
    plan.group = own_group();
    return Status::ok();
  }

  Status use_claim(const std::string& name, VolumePlan& plan) {
    const std::string claim = member(facts_.pod, "metadata").string_at("namespace") + "/" + name;
    const auto found =
        std::find_if(bound_.begin(), bound_.end(), [&](const auto& each) { return each.claim == claim; });
    if (found == bound_.end()) return Status::error(path_ + ": no bound volume for claim " + claim);
    if (!found->path.starts_with('/') || climbs(found->path)) {
      return Status::error("volume " + found->volume + ": path '" + found->path + "' must be absolute and without ..");
    }
    plan.kind = VolumePlan::Kind::bound;
    plan.path = found->path;
    if (!plan.read_only) plan.group = group_;
    return Status::ok();
  }

  Status read_host_path(const Json& host, VolumePlan& plan) {
    plan.kind = VolumePlan::Kind::node_path;
    plan.path = host.string_at("path");
    plan.type = host.string_at("type");
    if (!plan.path.starts_with('/') || climbs(plan.path)) {
      return Status::error(path_ + ".hostPath.path: must be an absolute path without ..");
    }
    const bool is_known = std::find(kHostPathTypes.begin(), kHostPathTypes.end(), plan.type) != kHostPathTypes.end();
    if (plan.type.empty() || is_known) return Status::ok();
    return Status::error(path_ +
                         ".hostPath.type: expected Directory, DirectoryOrCreate, File, FileOrCreate, Socket, "
                         "CharDevice or BlockDevice, got '" +
                         plan.type + "'");
  }

  Status read_empty_dir(const Json& empty_dir, VolumePlan& plan) {
    Findings findings;
    FieldReader reader(empty_dir, path_ + ".emptyDir", findings);
    Quantity limit;
    if (read_quantity(reader, "sizeLimit", limit) && limit < Quantity()) {
      reader.error("sizeLimit", "must not be negative");
    }
    if (findings.has_errors()) return findings.status();
    plan.size_limit = limit.value();
    plan.group = own_group();
    const std::string medium = empty_dir.string_at("medium");
    if (medium.empty()) return Status::ok();
    if (medium != "Memory") {
      return Status::error(path_ + ".emptyDir.medium: expected Memory or none, got '" + medium + "', which node " +
                           facts_.node + " does not support");
    }
    plan.kind = VolumePlan::Kind::memory;
    return limit_memory(plan);
  }

  // calculateEmptyDirMemorySize: the least of what the node, the pod and the volume may have.
  Status limit_memory(VolumePlan& plan) {
    const Result<std::optional<std::int64_t>> of_pod = memory_limit_of_pod(spec_);
    if (!of_pod) return of_pod.error();
    const auto of_node = facts_.allocatable.find("memory");
    const std::int64_t node = of_node != facts_.allocatable.end() ? of_node->second.value() : 0;
    for (const std::int64_t limit : {node, of_pod->value_or(0)}) {
      if (limit > 0 && (plan.size_limit <= 0 || limit < plan.size_limit)) plan.size_limit = limit;
    }
    return Status::ok();
  }

  const PodFacts& facts_;
  const Json& spec_;
  const std::vector<BoundVolume>& bound_;
  const std::string& pod_directory_;
  std::string path_;  // of the volume that is read
  std::optional<VolumeGroup> group_;
};

}  // namespace

Result<std::optional<std::int64_t>> memory_limit_of_pod(const Json& pod_spec) {
  const Result<PodLimits> limits = pod_limits_of(pod_spec);
  if (!limits) return limits.error();
  return limits->memory_bytes;
}

Result<std::vector<VolumePlan>> plan_volumes(const PodFacts& facts, const std::vector<BoundVolume>& bound,
                                             const std::string& pod_directory) {
  return VolumePlanner(facts, bound, pod_directory).plan();
}

}  // namespace berth
