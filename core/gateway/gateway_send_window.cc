// How much a node is asked at once (rules.md, Back-pressure): a few rows in prebind and bind, so that one that says
// nothing takes up no more of the window than that. What is decided beyond it keeps its place in the cache, is begun as
// the node answers, and goes back to the queue when it does not within the promise limit.
#include <utility>

#include "core/check.h"
#include "core/gateway/gateway.h"

namespace berth {

void Gateway::enter_flight(const Row& row) {
  ++in_flight_[row.node];
  ++all_in_flight_;
}

void Gateway::leave_flight(const Row& row) {
  const auto found = in_flight_.find(row.node);
  CHECK(found != in_flight_.end());
  if (--found->second == 0) in_flight_.erase(found);
  --all_in_flight_;
  freed_.insert(row.node);
}

// Nodes that cannot answer hold back nobody else: a row in bind has no deadline, and they may stay away for long.
bool Gateway::window_is_full() const {
  if (all_in_flight_ < options_.max_rows_in_flight) return false;
  std::size_t answerable = 0;
  for (const auto& [node, rows] : in_flight_) {
    const auto device = nodes_.all().find(node);
    if (device != nodes_.all().end() && device->second.reachable) answerable += rows;
  }
  return answerable >= options_.max_rows_in_flight;
}

bool Gateway::is_busy(const std::string& node) const {
  const auto found = in_flight_.find(node);
  return found != in_flight_.end() && found->second >= options_.max_rows_per_node;
}

// False too of a pod that ended since, or was decided anew for another node.
bool Gateway::waits_for(const std::string& node, std::string_view uid) const {
  const auto found = bindings_.find(uid);
  return found != bindings_.end() && found->second.journey().deferred && found->second.row.node == node;
}

// Nothing is durable of it: after a restart it is decided anew.
Status Gateway::defer(Binding& binding) {
  // What ended meanwhile, or is begun again, must not pile up behind a node that never answers.
  std::deque<std::string>& waiting = deferred_[binding.row.node];
  std::erase_if(waiting,
                [&](std::string_view uid) { return uid == binding.row.uid || !waits_for(binding.row.node, uid); });
  waiting.push_back(binding.row.uid);
  publisher_.mark(Kind::pod, binding.pod->metadata.key());
  Status busy(Code::wait, "node " + binding.row.node + " is asked when it has answered for others");
  if (std::exchange(binding.edit().deferred, true)) return busy;
  timers_.cancel(binding.edit().deadline);
  binding.edit().deadline = timers_.at(clock_.now() + options_.promise_ms, [this, uid = binding.row.uid] {
    Binding& late = bindings_.at(uid);
    late.edit().deadline = 0;
    feed_permit(uid, Status::error("node " + late.row.node + " did not answer for the pods before it in " +
                                   std::to_string(options_.promise_ms / 1000) + " s"));
  });
  return busy;
}

void Gateway::begin_deferred() {
  if (identity_.adopting) {
    // What was decided before does not count: the pod may run where the answers will tell.
    for (const auto& [node, uids] : std::exchange(deferred_, {})) {
      for (std::string_view uid : uids) {
        const auto found = bindings_.find(uid);
        if (found != bindings_.end() && found->second.journey().deferred) {
          feed_permit(uid, Status::error("the gateway learns anew what runs where"));
        }
      }
    }
  }
  for (const std::string& node : std::exchange(freed_, {})) {
    const auto waiting = deferred_.find(node);
    if (waiting == deferred_.end()) continue;
    while (!waiting->second.empty() && !is_busy(node)) {
      const std::string uid = std::move(waiting->second.front());
      waiting->second.pop_front();
      if (waits_for(node, uid)) feed_permit(uid, Status::ok());
    }
    if (waiting->second.empty()) deferred_.erase(waiting);
  }
}

}  // namespace berth
