#include "core/agent/refused_pods.h"

#include <algorithm>
#include <utility>

namespace berth {

RefusedPods::RefusedPods(Runtime& runtime, const Clock& clock, Timers& timers, std::uint64_t seed,
                         std::function<void()> changed)
    : runtime_(runtime),
      clock_(clock),
      timers_(timers),
      random_(seed),
      changed_(std::move(changed)),
      id_(random_.hex_id()) {}

RefusedPods::~RefusedPods() { timers_.cancel(timer_); }

bool RefusedPods::add(const std::string& uid, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  const Status refused = runtime_.check(pod, volumes);
  if (refused.code() != Code::error) return false;
  if (const auto known = pods_.find(uid); known != pods_.end()) {
    bytes_ -= known->second.pod.size();
    pods_.erase(known);
  }
  if (pods_.size() >= kMaxPods || bytes_ + pod.size() > kMaxBytes) {
    const bool is_old = std::any_of(pods_.begin(), pods_.end(),
                                    [this](const auto& each) { return clock_.now() - each.second.since >= kKeptMs; });
    if (is_old) begin_anew();
    return false;
  }
  bytes_ += pod.size();
  pods_[uid] = {pod, volumes, refused.message(), clock_.now()};
  if (pods_.size() == 1) timer_ = timers_.at(clock_.now() + kLookEveryMs, [this] { look_again(); });
  return true;
}

void RefusedPods::look_again() {
  const bool is_news = std::any_of(pods_.begin(), pods_.end(), [this](const auto& each) {
    const Status now = runtime_.check(each.second.pod, each.second.volumes);
    return now.is_success() || (now.code() == Code::error && now.message() != each.second.reason);
  });
  if (is_news) return begin_anew();
  timer_ = timers_.at(clock_.now() + kLookEveryMs, [this] { look_again(); });
}

void RefusedPods::begin_anew() {
  timers_.cancel(timer_);
  pods_.clear();
  bytes_ = 0;
  id_ = random_.hex_id();
  changed_();
}

}  // namespace berth
