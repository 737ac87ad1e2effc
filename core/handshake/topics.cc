#include "core/handshake/topics.h"

namespace berth {

namespace {

std::string join(const std::string& root, std::string_view a, std::string_view b, std::string_view c,
                 std::string_view d = {}) {
  std::string topic = root;
  topic.append(a).append("/").append(b).append("/").append(c);
  if (!d.empty()) topic.append("/").append(d);
  return topic;
}

}  // namespace

std::string Topics::desired(Kind kind, std::string_view key) const {
  return join(root_, "desired", describe(kind).plural, key);
}
std::string Topics::status(Kind kind, std::string_view key) const {
  return join(root_, "status", describe(kind).plural, key);
}
std::string Topics::events(std::string_view name_space) const { return root_ + "events/" + std::string(name_space); }
std::string Topics::node_state(std::string_view node) const { return join(root_, "nodes", node, "state"); }
std::string Topics::node_presence(std::string_view node) const { return join(root_, "nodes", node, "presence"); }
std::string Topics::node_heartbeat(std::string_view node) const { return join(root_, "nodes", node, "heartbeat"); }
std::string Topics::node_requests(std::string_view node) const { return join(root_, "nodes", node, "requests"); }
std::string Topics::node_pod(std::string_view node, std::string_view pod_key) const {
  return join(root_, "nodes", node, "pods", pod_key);
}
std::string Topics::answers(std::string_view gateway, std::string_view node) const {
  return join(root_, "gateways", gateway, "answers", node);
}
std::string Topics::gateway_presence(std::string_view gateway, std::string_view run) const {
  return join(root_, "gateways", gateway, "presence", run);
}
std::string Topics::gateway_api(std::string_view gateway) const { return join(root_, "gateways", gateway, "api"); }
std::string Topics::gateway_fence(std::string_view gateway) const { return join(root_, "gateways", gateway, "fence"); }
std::string Topics::client(std::string_view identity) const { return join(root_, "clients", identity, "answers"); }

std::string Topics::streams(std::string_view node) const { return root_ + "streams/" + std::string(node) + "/"; }
std::string Topics::stream(std::string_view node, std::string_view operator_name, std::string_view slot) const {
  return join(root_, "streams", node, operator_name, slot);
}

std::string_view Topics::below_root(std::string_view topic) const {
  return topic.starts_with(root_) ? topic.substr(root_.size()) : std::string_view();
}

std::string_view Topics::heartbeat_sender(std::string_view topic) const {
  constexpr std::string_view kBefore = "nodes/", kAfter = "/heartbeat";
  const std::string_view below = below_root(topic);
  if (below.size() <= kBefore.size() + kAfter.size() || !below.starts_with(kBefore) || !below.ends_with(kAfter)) {
    return {};
  }
  return below.substr(kBefore.size(), below.size() - kBefore.size() - kAfter.size());
}

std::vector<std::string_view> Topics::split(std::string_view topic) const {
  std::vector<std::string_view> levels;
  if (!topic.starts_with(root_)) return levels;
  levels.reserve(5);  // most topics have fewer
  topic.remove_prefix(root_.size());
  for (;;) {
    const std::size_t slash = topic.find('/');
    levels.push_back(topic.substr(0, slash));
    if (slash == std::string_view::npos) return levels;
    topic.remove_prefix(slash + 1);
  }
}

}  // namespace berth
