// SimOutput: what the finished workloads of one simulated machine have written. It survives the agent and its store.
#pragma once

#include <algorithm>
#include <vector>

#include "core/agent/output_archive.h"

namespace berth::sim {

class SimOutput final : public OutputArchive {
 public:
  static constexpr std::size_t kMaxPods = 8;

  void keep(const Tag& tag) override {
    drop(tag);
    tags_.push_back(tag);
    if (tags_.size() > kMaxPods) tags_.erase(tags_.begin());
  }
  void drop(const Tag& tag) override {
    std::erase_if(tags_, [&tag](const Tag& each) { return each.uid == tag.uid && each.epoch <= tag.epoch; });
  }
  std::vector<Tag> kept() const override { return tags_; }

 private:
  std::vector<Tag> tags_;
};

}  // namespace berth::sim
