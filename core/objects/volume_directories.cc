#include "core/objects/volume_directories.h"

#include <algorithm>
#include <vector>

#include "core/objects/nodes.h"
#include "core/objects/objects.h"
#include "core/objects/reserved_labels.h"

namespace berth {

namespace {

using Names = std::vector<std::string_view>;

const Requirement* find_name(const std::vector<Requirement>& requirements, std::string_view key) {
  const auto found = std::find_if(requirements.begin(), requirements.end(), [key](const Requirement& each) {
    return each.key == key && each.op == Requirement::Operator::in;
  });
  return found == requirements.end() ? nullptr : &*found;
}

// The nodes that the volume names; none: it may be on others as well.
std::optional<Names> names_of(const PersistentVolume& volume) {
  if (!volume.node_affinity) return {};
  Names names;
  for (const NodeSelectorTerm& term : volume.node_affinity->terms) {
    const Requirement* named = find_name(term.match_expressions, kHostnameLabel);
    if (named == nullptr) named = find_name(term.match_fields, "metadata.name");
    if (named == nullptr) return {};
    names.insert(names.end(), named->values.begin(), named->values.end());
  }
  return names;
}

bool is_at(const PersistentVolume& volume, const Node& node) {
  return !volume.node_affinity || matches(*volume.node_affinity, node.metadata.labels, node.metadata.name);
}

// Empty: no node.
std::string common_node(const PersistentVolume& a, const PersistentVolume& b, const Nodes& nodes) {
  const auto both_at = [&](const DeviceNode& device) {
    return device.node != nullptr && is_at(a, *device.node) && is_at(b, *device.node);
  };
  const auto named = names_of(a);
  const auto others = named ? names_of(b) : std::nullopt;
  if (!named || !others) {
    for (const auto& [name, device] : nodes.all()) {
      if (both_at(device)) return name;
    }
    return {};
  }
  for (std::string_view name : *named) {
    if (std::find(others->begin(), others->end(), name) == others->end()) continue;
    const auto known = nodes.all().find(std::string(name));
    if (known == nodes.all().end() || known->second.node == nullptr || both_at(known->second)) return std::string(name);
  }
  return {};
}

}  // namespace

std::string normal_path(std::string_view path) {
  std::string normal;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (!part.empty() && part != ".") normal.append("/").append(part);
    at = end + 1;
  }
  return normal.empty() ? "/" : normal;
}

std::string SharedDirectory::text() const {
  return path + " on node " + node + " is that of volume " + volume +
         " already; give each volume a directory of its own";
}

std::optional<SharedDirectory> find_shared_directory(const PersistentVolume& volume, const Objects& objects,
                                                     const Nodes& nodes) {
  const std::string path = normal_path(volume.local_path);
  for (const auto& [name, other] : objects.all<PersistentVolume>()) {
    if (name == volume.metadata.name || other->local_path.empty()) continue;
    if (other->local_path != path && normal_path(other->local_path) != path) continue;
    if (std::string node = common_node(volume, *other, nodes); !node.empty()) {
      return SharedDirectory{name, std::move(node), path};
    }
  }
  return {};
}

}  // namespace berth
