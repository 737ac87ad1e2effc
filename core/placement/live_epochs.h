// LiveEpochs: which epochs live on each node: those of its rows and of its release-list entries (P10).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/handshake/epoch.h"
#include "core/text.h"

namespace berth {

class LiveEpochs {
 public:
  // Lowest first. Two pods may have one epoch when two stores of this gateway placed them.
  using Epochs = std::vector<std::pair<Epoch, Text>>;  // and the uid of each one's pod

  void hold(const Text& node, const Epoch& epoch, const Text& uid);
  void drop(std::string_view node, const Epoch& epoch, std::string_view uid);
  // P10: the lowest epoch that lives on the node; with none, `next`, the epoch that the next row will get.
  Epoch floor_of(std::string_view node, const Epoch& next) const;
  // The pod of the row or release-list entry that has this epoch on the node. Empty when there is none or more than
  // one: a device names the pod itself once it knows of both.
  std::string uid_of(std::string_view node, const Epoch& epoch) const;
  // Null when no epoch lives on the node.
  const Epochs* of(std::string_view node) const;

 private:
  std::unordered_map<Text, Epochs, TextHash, std::equal_to<>> live_;  // by node
};

}  // namespace berth
