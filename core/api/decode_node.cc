#include <algorithm>

#include "core/api/decode_parts.h"
#include "core/api/features.h"
#include "core/api/names.h"
#include "core/api/node.h"
#include "core/api/read_quantity.h"

namespace berth {
namespace {

// Resource names of a node: Kubernetes' own or extended ones, all with the syntax of label keys.
void read_amounts(FieldReader& status, std::string_view key, ResourceList& out) {
  if (!read_quantities(status, key, out)) return;
  for (const auto& [name, quantity] : out) {
    if (is_label_key(name)) continue;
    status.findings().rule(member_path(status.path_of(key), name),
                           "expected a resource name such as cpu, memory, pods or example.com/gpu");
  }
}

void read_features(FieldReader& status, Node& node) {
  std::vector<std::string> features;
  if (!status.read_list("declaredFeatures", features)) return;
  if (features.size() > kMaxFeatures) {
    status.rule("declaredFeatures",
                "expected at most " + std::to_string(kMaxFeatures) + " names, got " + std::to_string(features.size()));
    return;
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (is_feature_name(features[i])) continue;
    status.findings().rule(item_path(status.path_of("declaredFeatures"), i),
                           "expected the name of a feature: letters, digits, '-', '.', '_' and '/', at most " +
                               std::to_string(kMaxFeatureBytes));
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  node.declared_features = std::move(features);
}

void read_pools(FieldReader& status, Node& node) {
  std::vector<VolumePool> pools;
  status.read_each("volumePools", [&](FieldReader& item) {
    VolumePool pool;
    for (std::string_view key : {"class", "root", "capacity"}) {
      if (!item.require(key, "a class, a root and a capacity")) return;
    }
    item.read_checked("class", pool.storage_class, is_valid_name, "the name of a StorageClass");
    item.read_checked("root", pool.root, is_pool_root, "an absolute path without \"..\", and without '/' at its end");
    read_quantity(item, "capacity", pool.capacity);
    item.read_bool("limited", pool.is_limited);
    const bool is_known = std::any_of(pools.begin(), pools.end(), [&pool](const VolumePool& other) {
      return other.storage_class == pool.storage_class;
    });
    if (is_known) item.rule("class", "duplicate pool of class " + pool.storage_class + "; one a class is possible");
    pools.push_back(std::move(pool));
  });
  if (pools.size() > kMaxPools) {
    status.rule("volumePools",
                "expected at most " + std::to_string(kMaxPools) + " pools, got " + std::to_string(pools.size()));
  }
  node.volume_pools = std::move(pools);
}

void read_node_status(FieldReader& status, Node& node) {
  ResourceList capacity;
  read_amounts(status, "capacity", capacity);
  // Allocatable defaults to capacity (core/v1 defaults, SetDefaults_NodeStatus).
  if (status.has("allocatable")) {
    read_amounts(status, "allocatable", node.allocatable);
  } else {
    node.allocatable = capacity;
  }
  if (!node.allocatable.empty() && !node.allocatable.contains("pods")) {
    status.warn("allocatable", "resource \"pods\" is missing, so no pod fits; add the number of pods the node can run");
  }
  status.read_each("images", [&](FieldReader& item) {
    ContainerImage& image = node.images.emplace_back();
    item.read_list("names", image.names);
    item.read_int64("sizeBytes", image.size_bytes, 0);
  });
  status.read_each("conditions", [&](FieldReader& item) {
    std::string type, text;
    if (item.read_string("type", type) && item.read_string("status", text)) node.conditions[type] = text;
  });
  read_features(status, node);
  read_pools(status, node);
  // `incarnation` and `volumePools` are Berth's own: what `get` shows may be applied again.
}

}  // namespace

Result<Node> decode_node(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  Node node;
  decode::read_head(reader, Kind::node, node.metadata);
  reader.read_object("spec", [&](FieldReader& spec) {
    spec.read_bool("unschedulable", node.unschedulable);
    spec.read_each("taints", [&](FieldReader& item) {
      Taint taint;
      decode::read_taint(item, node.taints, taint);
      node.taints.push_back(std::move(taint));
    });
  });
  reader.read_object("status", [&](FieldReader& status) { read_node_status(status, node); });
  reader.finish();
  return decode::conclude(Kind::node, std::move(node), json, findings, warnings);
}

}  // namespace berth
