// Nominator: pods that preemption promised a node, until they are placed or lose the promise (kube-scheduler
// backend/queue/nominator.go). Filter counts them as if they ran there.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/objects.h"

namespace berth {

class Nominator {
 public:
  // To the end of the node's list; a pod has one nomination at most. An empty `node` only takes the old one away.
  void add(std::shared_ptr<const Pod> pod, std::string_view node);
  void remove(std::string_view uid);
  // The object changed; its nomination keeps its place.
  void replace(const std::shared_ptr<const Pod>& pod);
  // Empty: not nominated.
  std::string node_of(std::string_view uid) const;
  // In the order of nomination.
  const std::vector<std::shared_ptr<const Pod>>& pods_on(std::string_view node) const;
  const std::map<std::string, std::vector<std::shared_ptr<const Pod>>, std::less<>>& by_node() const {
    return by_node_;
  }

 private:
  std::map<std::string, std::vector<std::shared_ptr<const Pod>>, std::less<>> by_node_;
  std::map<Text, std::string, std::less<>> node_of_;  // by uid
};

}  // namespace berth
