#include "core/api/packed.h"

#include <optional>
#include <type_traits>

#include "core/api/node.h"
#include "core/api/pod.h"

namespace berth {

namespace {

// The version, written first. Increment it with every change of the result of decode_pod() and set_defaults(), or of
// decode_node(), core/objects/nodes.cc and reserved_labels.cc there, of a type below that is part of it, or of this
// file; objects packed with another version are decoded from their JSON.
constexpr std::uint64_t kPodForm = 12;
constexpr std::uint64_t kNodeForm = 7;

// Passes the fields of each type, in order, to archive(field...). The structured bindings make the code fail to compile
// when a type gains a member that is not listed here.
void visit(auto& archive, Quantity& quantity) {
  std::int64_t units = quantity.units();
  std::int32_t nanos = quantity.nanos();
  archive(units, nanos);
  quantity = Quantity::from_parts(units, nanos);
}
void visit(auto& archive, ObjectMeta& it) {
  auto& [name, name_space, uid, labels, annotations, controller, deleting] = it;
  archive(name, name_space);
  archive.id(uid);
  archive.labels(labels);
  archive(annotations, deleting, controller);
}
void visit(auto& archive, Requirement& it) {
  auto& [key, op, values] = it;
  archive(key, op, values);
}
void visit(auto& archive, LabelSelector& it) {
  auto& [requirements] = it;
  archive(requirements);
}
void visit(auto& archive, NodeSelectorTerm& it) {
  auto& [expressions, fields] = it;
  archive(expressions, fields);
}
void visit(auto& archive, NodeSelector& it) {
  auto& [terms] = it;
  archive(terms);
}
void visit(auto& archive, PreferredNodeTerm& it) {
  auto& [weight, preference] = it;
  archive(weight, preference);
}
void visit(auto& archive, PodAffinityTerm& it) {
  auto& [selector, namespaces, namespace_selector, topology_key, match_keys, mismatch_keys] = it;
  archive(selector, namespaces, namespace_selector, topology_key, match_keys, mismatch_keys);
}
void visit(auto& archive, WeightedPodAffinityTerm& it) {
  auto& [weight, term] = it;
  archive(weight, term);
}
void visit(auto& archive, PodAffinity& it) {
  auto& [required, preferred] = it;
  archive(required, preferred);
}
void visit(auto& archive, TopologySpreadConstraint& it) {
  auto& [max_skew, topology_key, anyway, selector, min_domains, honor_affinity, honor_taints, match_keys] = it;
  archive(max_skew, topology_key, anyway, selector, min_domains, honor_affinity, honor_taints, match_keys);
}
void visit(auto& archive, Toleration& it) {
  auto& [key, op, value, effect, seconds] = it;
  archive(key, op, value, effect, seconds);
}
void visit(auto& archive, HostPort& it) {
  auto& [ip, protocol, port] = it;
  archive(ip, protocol, port);
}
void visit(auto& archive, Container& it) {
  auto& [name, image, host_ports, own_ports, requests, limits, restart_always] = it;
  archive(name, image, host_ports, own_ports, requests, limits, restart_always);
}
void visit(auto& archive, DiskSource& it) {
  auto& [type, id, pool, monitors, read_only] = it;
  archive(type, id, pool, monitors, read_only);
}
void visit(auto& archive, PodVolume& it) {
  auto& [name, claim, ephemeral, disk] = it;
  archive(name, claim, ephemeral, disk);
}
void visit(auto& archive, PodResourceClaim& it) {
  auto& [name, claim, claim_template] = it;
  archive(name, claim, claim_template);
}
template <class T>
void visit(auto& archive, SharedOptional<T>& it) {
  archive(it.shared);
}
void visit(auto& archive, Affinity& it) {
  auto& [required_nodes, preferred_nodes, pods, anti_pods] = it;
  archive(required_nodes, preferred_nodes, pods, anti_pods);
}
void visit(auto& archive, Need& it) {
  auto& [feature, field] = it;
  archive(feature, field);
}
void visit(auto& archive, PodSpec& it) {
  auto& [scheduler, host_network, unknown, never_preempts, spread, tolerations, gates, containers, init_containers,
         requests, limits, overhead, resource_claims, needs, grace] = it;
  archive(scheduler, host_network, unknown, never_preempts, spread, tolerations, gates, containers, init_containers,
          requests, limits, overhead, resource_claims, needs, grace);
}
void visit(auto& archive, Pod& it) {
  auto& [metadata, preempted, users, priority, node, spec, node_selector, affinity, volumes, nominated, shape, start] =
      it;
  static_cast<void>(users);
  static_cast<void>(shape);
  Shared<PodSpec>& shared = spec;
  archive(metadata, preempted, priority, shared, node, node_selector, affinity, volumes, nominated);
  std::optional<std::int64_t> started = start;
  archive(started);
  start = started;
}

void visit(auto& archive, Taint& it) {
  auto& [key, value, effect] = it;
  archive(key, value, effect);
}
void visit(auto& archive, ContainerImage& it) {
  auto& [names, size] = it;
  archive(names, size);
}
void visit(auto& archive, VolumePool& it) {
  auto& [storage_class, root, capacity, is_limited] = it;
  archive(storage_class, root, capacity, is_limited);
}
void visit(auto& archive, Node& it) {
  auto& [metadata, taints, unschedulable, allocatable, images, conditions, features, pools, manifest] = it;
  static_cast<void>(manifest);
  archive(metadata, taints, unschedulable, allocatable, images, conditions, features, pools);
}

class Packer {
 public:
  explicit Packer(ByteWriter& out) : out_(out) {}
  void operator()(auto&... fields) { (pack(fields), ...); }
  void id(const Text& text) { out_.id(text); }
  void labels(Shared<Labels>& labels) { pack(labels); }
  // The packed form of a part; empty if it equals a default-constructed one.
  template <class T>
  static std::string part(const Shared<T>& shared) {
    if (shared.is_none()) return {};
    static const std::string& none = *new std::string(bytes_of(T()));
    std::string bytes = bytes_of(shared.get());
    return bytes == none ? std::string() : bytes;
  }

 private:
  template <class T>
  static std::string bytes_of(const T& value) {
    ByteWriter out;
    Packer(out).pack(const_cast<T&>(value));  // a Packer does not modify it
    return out.take();
  }
  void pack(const std::string& text) { out_.text(text); }
  void pack(Text& text) { out_.text(text); }
  template <class T>
  void pack(Shared<T>& shared) {
    const std::string* packed = shared.packed();
    out_.text(packed != nullptr ? *packed : part(shared));
  }
  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void pack(T value) {
    out_.integer(static_cast<std::int64_t>(value));
  }
  template <class T>
  void pack(std::optional<T>& value) {
    out_.byte(value ? 1 : 0);
    if (value) pack(*value);
  }
  template <class T>
  void pack(std::vector<T>& items) {
    out_.number(items.size());
    for (T& item : items) pack(item);
  }
  template <class T>
  void pack(std::map<std::string, T>& items) {
    out_.number(items.size());
    for (auto& [key, value] : items) {
      pack(key);
      pack(value);
    }
  }
  template <class T>
    requires(std::is_class_v<T> && !std::is_same_v<std::remove_const_t<T>, std::string>)
  void pack(T& value) {
    visit(*this, value);
  }

  ByteWriter& out_;
};

class Unpacker {
 public:
  // `own_labels`: of a node, which have its name. No other one has them, so they are not interned.
  explicit Unpacker(ByteReader& in, bool own_labels = false) : in_(in), own_labels_(own_labels) {}
  void operator()(auto&... fields) { (unpack(fields), ...); }
  void id(Text& text) {
    ByteReader::UuidText uuid{};
    text = in_.id(uuid);
  }
  void labels(Shared<Labels>& labels) {
    if (!own_labels_) return unpack(labels);
    const std::string_view packed = in_.text();
    if (packed.empty()) return labels.clear();
    ByteReader in(packed);
    Labels own;
    Unpacker(in).unpack(own);
    if (!in.ok() || !in.at_end()) return in_.fail();
    labels = std::move(own);
  }

 private:
  // The number of items that follow, each at least one byte.
  std::size_t count() {
    const std::uint64_t count = in_.number();
    if (count > in_.left()) in_.fail();
    return in_.ok() ? static_cast<std::size_t>(count) : 0;
  }
  void unpack(std::string& text) { text = in_.text(); }
  void unpack(Text& text) { text = Text::common(in_.text()); }
  // A part that many pods share is unpacked only for the first of them.
  template <class T>
  void unpack(Shared<T>& shared) {
    const std::string_view packed = in_.text();
    if (packed.empty()) return shared.clear();
    std::optional<Shared<T>> found = Shared<T>::common(packed, [packed](T& value) {
      ByteReader in(packed);
      Unpacker(in).unpack(value);
      return in.ok() && in.at_end();
    });
    if (!found) return in_.fail();
    shared = std::move(*found);
  }
  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void unpack(T& value) {
    value = static_cast<T>(in_.integer());
  }
  template <class T>
  void unpack(std::optional<T>& value) {
    value.reset();
    if (in_.byte() != 0) unpack(value.emplace());
  }
  template <class T>
  void unpack(std::vector<T>& items) {
    items.clear();
    for (std::size_t left = count(); left > 0 && in_.ok(); --left) unpack(items.emplace_back());
  }
  template <class T>
  void unpack(std::map<std::string, T>& items) {
    items.clear();
    for (std::size_t left = count(); left > 0 && in_.ok(); --left) {
      const auto item = items.emplace_hint(items.end(), in_.text(), T());
      unpack(item->second);
    }
  }
  template <class T>
    requires(std::is_class_v<T> && !std::is_same_v<std::remove_const_t<T>, std::string>)
  void unpack(T& value) {
    visit(*this, value);
  }

  ByteReader& in_;
  bool own_labels_;
};

// Replaces each part by the interned one.
class Sharer {
 public:
  explicit Sharer(bool own_labels) : own_labels_(own_labels) {}
  void operator()(auto&... fields) { (share(fields), ...); }
  void id(const Text&) {}  // unique
  void labels(Shared<Labels>& labels) {
    if (!own_labels_ || labels.empty()) share(labels);
  }

 private:
  template <class T>
  void share(T&) {}
  void share(ObjectMeta& it) { visit(*this, it); }
  void share(Text& text) { text = Text::common(text); }
  template <class T>
  void share(Shared<T>& shared) {
    if (shared.packed() != nullptr) return;
    const std::string packed = Packer::part(shared);
    if (packed.empty()) return shared.clear();
    shared = *Shared<T>::common(packed, [&shared](T& value) {
      value = shared.get();
      return true;
    });
  }

  bool own_labels_;
};

template <class T>
void pack(ByteWriter& out, std::uint64_t form, const T& object) {
  out.number(form);
  Packer packer(out);
  visit(packer, const_cast<T&>(object));  // a Packer does not modify it
}

bool is_alike(std::string_view packed, std::uint64_t form) {
  ByteReader in(packed);
  return in.number() == form || !in.ok();
}

template <class T>
bool unpack(std::string_view packed, std::uint64_t form, T& object) {
  ByteReader in(packed);
  if (in.number() != form) return false;
  Unpacker unpacker(in, std::is_same_v<T, Node>);
  visit(unpacker, object);
  return in.ok() && in.at_end();
}

}  // namespace

void share_parts(Pod& pod) {
  Sharer sharer(false);
  visit(sharer, pod);
}
void share_parts(Node& node) {
  Sharer sharer(true);
  visit(sharer, node);
}

void pack_pod(ByteWriter& out, const Pod& pod) { pack(out, kPodForm, pod); }
void pack_node(ByteWriter& out, const Node& node) { pack(out, kNodeForm, node); }
bool is_pod_packed_alike(std::string_view packed) { return is_alike(packed, kPodForm); }
bool is_node_packed_alike(std::string_view packed) { return is_alike(packed, kNodeForm); }
bool unpack_pod(std::string_view packed, Pod& pod) { return unpack(packed, kPodForm, pod); }
bool unpack_node(std::string_view packed, Node& node) { return unpack(packed, kNodeForm, node); }

}  // namespace berth
