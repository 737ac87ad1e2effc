#include "core/queue/in_flight_pods.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"

namespace berth {

std::uint64_t InFlightPods::begin(const Text& uid) {
  const std::uint64_t sequence = events_.last();
  flights_.insert_or_assign(uid, Flight{sequence, nullptr, ++pops_});
  return sequence;
}

void InFlightPods::end(std::string_view uid) {
  if (flights_.erase(uid) == 0) return;
  std::uint64_t oldest = events_.last();
  for (const auto& [other, flight] : flights_) oldest = std::min(oldest, flight.event_sequence);
  events_.trim(oldest);
}

const InFlightPods::Flight* InFlightPods::find(std::string_view uid) const {
  const auto found = flights_.find(uid);
  return found == flights_.end() ? nullptr : &found->second;
}

bool InFlightPods::update(std::string_view uid, PodPtr pod) {
  const auto found = flights_.find(uid);
  if (found == flights_.end()) return false;
  found->second.updated = std::move(pod);
  return true;
}

void InFlightPods::record(const ClusterEvent& event, const EventObjects& objects) {
  if (!flights_.empty()) events_.add(event, objects);
}

std::map<std::string_view, std::size_t> InFlightPods::event_counts() const {
  std::map<std::string_view, std::size_t> counts;
  for (const EventRing::Item& item : events_.items()) ++counts[item.event.label];
  return counts;
}

std::vector<std::string> InFlightPods::uids() const {
  std::vector<std::string> uids;
  for (const auto& [uid, flight] : flights_) uids.emplace_back(uid);
  return uids;
}

std::vector<std::string> InFlightPods::uids_by_pop() const {
  std::map<std::uint64_t, std::string> by_pop;
  for (const auto& [uid, flight] : flights_) by_pop.emplace(flight.order, uid);
  std::vector<std::string> uids;
  for (auto& [order, uid] : by_pop) uids.push_back(std::move(uid));
  return uids;
}

}  // namespace berth
