#include "core/framework/waiting_pods.h"

#include <algorithm>

#include "core/api/pod.h"
#include "core/check.h"

namespace berth {

namespace {

using Named = std::pair<const std::string, WaitingPod::Wait>;

const Named& earliest(const WaitingPod& waiting) {
  return *std::min_element(waiting.plugins.begin(), waiting.plugins.end(),
                           [](const Named& a, const Named& b) { return a.second.deadline < b.second.deadline; });
}

}  // namespace

void WaitingPods::add(PodPtr pod, std::string node, const std::map<std::string, Millis>& timeouts, Millis now) {
  CHECK(!timeouts.empty());
  WaitingPod waiting;
  waiting.node = std::move(node);
  for (const auto& [plugin, timeout] : timeouts) waiting.plugins[plugin] = {timeout, now + timeout};
  const Text uid = pod->uid();
  waiting.pod = std::move(pod);
  const bool added = pods_.emplace(uid, std::move(waiting)).second;
  CHECK(added);
}

const WaitingPod* WaitingPods::find(std::string_view uid) const {
  auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

void WaitingPods::decide(std::string_view uid, Status status) {
  decided_.emplace_back(uid, std::move(status));
  pods_.erase(decided_.back().first);
}

bool WaitingPods::allow(std::string_view uid, const std::string& plugin) {
  auto found = pods_.find(uid);
  if (found == pods_.end() || found->second.plugins.erase(plugin) == 0) return false;
  if (found->second.plugins.empty()) decide(uid, Status::ok());
  return true;
}

bool WaitingPods::reject(std::string_view uid, const std::string& plugin, const std::string& message) {
  if (!pods_.contains(uid)) return false;
  decide(uid, Status::unschedulable(message).with_plugin(plugin));
  return true;
}

void WaitingPods::time_out(std::string_view uid) {
  const auto [plugin, wait] = earliest(pods_.find(uid)->second);
  reject(uid, plugin, "rejected due to timeout after waiting " + duration_text(wait.timeout) + " at plugin " + plugin);
}

void WaitingPods::expire(Millis now) {
  std::vector<Text> late;
  for (const auto& [uid, waiting] : pods_) {
    if (earliest(waiting).second.deadline <= now) late.push_back(uid);
  }
  for (std::string_view uid : late) time_out(uid);
}

std::optional<Millis> WaitingPods::next_deadline() const {
  std::optional<Millis> next;
  for (const auto& [uid, waiting] : pods_) {
    const Millis deadline = earliest(waiting).second.deadline;
    next = std::min(next.value_or(deadline), deadline);
  }
  return next;
}

std::string duration_text(Millis duration) {
  if (duration == 0) return "0s";
  if (duration < 1000) return std::to_string(duration) + "ms";
  const Millis hours = duration / 3'600'000;
  const Millis minutes = duration / 60'000 % 60;
  std::string text;
  if (hours > 0) text += std::to_string(hours) + "h";
  if (hours > 0 || minutes > 0) text += std::to_string(minutes) + "m";
  text += std::to_string(duration / 1000 % 60);
  if (std::string part = std::to_string(duration % 1000 + 1000).substr(1); part != "000") {
    part.erase(part.find_last_not_of('0') + 1);
    text += "." + part;
  }
  return text + "s";
}

}  // namespace berth
