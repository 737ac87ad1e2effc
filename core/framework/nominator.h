// Nominator: pods nominated to a node by preemption, until they are placed or lose the nomination (kube-scheduler
// backend/queue/nominator.go). Filter treats them as running there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/text.h"

namespace berth {

class Nominator {
 public:
  // Appends to the node's list, replacing the pod's previous nomination; an empty `node` only removes that.
  void add(PodPtr pod, std::string_view node);
  void remove(std::string_view uid);
  // The object changed; its nomination keeps its position in the list.
  void replace(const PodPtr& pod);
  // Empty: not nominated.
  std::string node_of(std::string_view uid) const;
  // In the order of nomination.
  const std::vector<PodPtr>& pods_on(std::string_view node) const;
  const std::map<std::string, std::vector<PodPtr>, std::less<>>& by_node() const { return by_node_; }

 private:
  std::map<std::string, std::vector<PodPtr>, std::less<>> by_node_;
  std::map<Text, std::string, std::less<>> node_of_;  // by uid
};

}  // namespace berth
