// Queueing hints: the events that each plugin of the default profile registers, its hints for incoming events, and the
// events that an update of a node or pod is translated to.
#include <algorithm>
#include <array>

#include "core/api/decode.h"
#include "core/api/node.h"
#include "core/framework/framework.h"
#include "plugins/registry.h"
#include "tests/conformance/cluster.h"
#include "tests/conformance/event_names.h"
#include "tests/conformance/verdict.h"

namespace berth {

namespace {

// Decodes a recorded manifest; null if there is none.
template <class Pointer, class Decode>
Pointer decoded(const Json& manifest, Decode decode) {
  if (!manifest.is_object()) return nullptr;
  using T = std::remove_const_t<typename Pointer::element_type>;
  Result<T> object = decode(manifest, nullptr, Rules::off);
  if (!object) return nullptr;
  if (object->metadata.uid.empty()) object->metadata.uid = object->metadata.key();
  return Pointer(new T(std::move(*object)));
}

EventObjects objects_of(EventResource resource, const Json& event) {
  EventObjects objects;
  const Json& before = at(event, "old");
  const Json& after = at(event, "new");
  const auto fill = [&](auto& mine_before, auto& mine_after, auto decode) {
    using Pointer = std::decay_t<decltype(mine_before)>;
    mine_before = decoded<Pointer>(before, decode);
    mine_after = decoded<Pointer>(after, decode);
  };
  switch (resource) {
    case EventResource::pod:
    case EventResource::assigned_pod:
    case EventResource::unscheduled_pod: fill(objects.old_pod, objects.new_pod, decode_pod); break;
    case EventResource::node: fill(objects.old_node, objects.new_node, decode_node); break;
    case EventResource::persistent_volume:
      fill(objects.old_volume, objects.new_volume, decode_persistent_volume);
      break;
    case EventResource::persistent_volume_claim:
      fill(objects.old_claim, objects.new_claim, decode_persistent_volume_claim);
      break;
    case EventResource::storage_class: fill(objects.old_class, objects.new_class, decode_storage_class); break;
    case EventResource::csi_node: fill(objects.old_csi_node, objects.new_csi_node, decode_csi_node); break;
    case EventResource::csi_driver: fill(objects.old_csi_driver, objects.new_csi_driver, decode_csi_driver); break;
    case EventResource::csi_storage_capacity:
      fill(objects.old_csi_capacity, objects.new_csi_capacity, decode_csi_storage_capacity);
      break;
    case EventResource::volume_attachment:
      if (before.is_object()) {
        VolumeAttachment attachment;
        attachment.attacher = text(at(at(before, "spec"), "attacher"));
        objects.old_attachment = std::make_shared<const VolumeAttachment>(std::move(attachment));
      }
      break;
    case EventResource::wildcard: break;
  }
  return objects;
}

class HintTable {
 public:
  HintTable() {
    Result<std::unique_ptr<Framework>> made = Framework::make(in_tree_registry(), default_profile(), cluster_);
    if (made) framework_ = std::move(*made);
  }
  bool has(const std::string& plugin) const {
    const std::vector<std::string> names = registry_.names();
    return framework_ != nullptr && std::find(names.begin(), names.end(), plugin) != names.end();
  }

  std::string compare_registered(const Json& record) const {
    std::vector<std::string> got;
    std::vector<std::string> want;
    for (const EventWithHint& event : framework_->events_of(text(at(record, "plugin")))) {
      got.push_back(show_event(event.event.resource, event.event.actions) + (event.hint ? " hint" : ""));
    }
    for (const Json& event : list(at(record, "registered"))) {
      std::uint32_t actions = 0;
      for (const std::string& name : strings(at(event, "actions"))) actions |= action_named(name);
      want.push_back(show_event(resource_named(text(at(event, "resource"))), actions) +
                     (flag(at(event, "hint")) ? " hint" : ""));
    }
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    return got == want ? "" : "registered: got " + show(got) + ", want " + show(want);
  }

  std::string compare_hint(const Json& record) const {
    const Json& event = at(record, "event");
    const EventResource resource = resource_named(text(at(event, "resource")));
    const ClusterEvent incoming{resource, action_named(text(at(event, "action"))), ""};
    const PodPtr pod = decoded<PodPtr>(at(record, "pod"), decode_pod);
    if (pod == nullptr) return "the pod cannot be decoded";
    const EventObjects objects = objects_of(resource, event);
    std::string got = "NotRegistered";
    for (const EventWithHint& asked : framework_->events_of(text(at(record, "plugin")))) {
      if (!asked.event.matches(incoming)) continue;
      const Hint hint = asked.hint ? asked.hint(*pod, objects) : Hint::queue;
      got = hint == Hint::queue || got == "Queue" ? "Queue" : "QueueSkip";
    }
    const std::string want = text(at(record, "expect"));
    return got == want ? "" : "hint: got " + got + ", want " + want;
  }

 private:
  Cluster cluster_;
  Registry registry_ = in_tree_registry();
  std::unique_ptr<Framework> framework_;
};

std::string compare_events(const Json& record, const std::vector<ClusterEvent>& events) {
  std::vector<std::string> got;
  for (const ClusterEvent& event : events) got.push_back(show_event(event.resource, event.actions));
  std::vector<std::string> want;
  for (const Json& event : list(at(record, "expect"))) {
    if (event.is_string()) {
      const std::string& name = event.as_string();
      const std::size_t slash = name.rfind('/');
      const EventResource resource =
          slash == std::string::npos ? EventResource::node : resource_named(name.substr(0, slash));
      want.push_back(show_event(resource, action_named(name.substr(slash + 1))));
    } else {
      want.push_back(show_event(resource_named(text(at(event, "resource"))), action_named(text(at(event, "action")))));
    }
  }
  return got == want ? "" : "events: got " + show(got) + ", want " + show(want);
}

}  // namespace

Verdict replay_hint(const Json& test_case) {
  static const HintTable hints;
  Verdict verdict;
  const std::string kind = text(at(test_case, "kind"));
  const std::string plugin = text(at(test_case, "plugin"));
  std::string difference;
  if (kind == "nodeUpdate" || kind == "podUpdate") {
    const Json& before = at(at(test_case, "event"), "old");
    const Json& after = at(at(test_case, "event"), "new");
    if (kind == "nodeUpdate") {
      const auto node_before = decoded<std::shared_ptr<const Node>>(before, decode_node);
      const auto node_after = decoded<std::shared_ptr<const Node>>(after, decode_node);
      difference = node_before && node_after ? compare_events(test_case, node_events(*node_before, *node_after))
                                             : "a node cannot be decoded";
    } else {
      const auto pod_before = decoded<PodPtr>(before, decode_pod);
      const auto pod_after = decoded<PodPtr>(after, decode_pod);
      difference = pod_before && pod_after ? compare_events(test_case, pod_events(*pod_before, *pod_after))
                                           : "a pod cannot be decoded";
    }
  } else if (plugin == "DynamicResources") {
    verdict.intended["no dynamic resource allocation: nodes offer no ResourceSlices here"] = 1;
    return verdict;
  } else if (!hints.has(plugin)) {
    verdict.left_out[plugin] = 1;
    return verdict;
  } else {
    difference = kind == "registered" ? hints.compare_registered(test_case) : hints.compare_hint(test_case);
  }
  verdict.same = difference.empty() ? 1 : 0;
  if (!difference.empty()) verdict.differences.push_back(plugin + " " + kind + ": " + difference);
  return verdict;
}

}  // namespace berth
