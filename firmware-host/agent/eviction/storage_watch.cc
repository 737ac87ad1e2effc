#include "firmware-host/agent/eviction/storage_watch.h"

#include <algorithm>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/eviction/storage_limits.h"

namespace berth {

namespace {

// Of most manifests nothing has to be parsed.
bool may_have_storage_limits(const std::string& manifest) {
  return manifest.find("sizeLimit") != std::string::npos || manifest.find("ephemeral-storage") != std::string::npos;
}

}  // namespace

StorageWatch::StorageWatch(World world, const Clock& clock, Timers& timers)
    : world_(std::move(world)), clock_(clock), timers_(timers) {}

StorageWatch::~StorageWatch() { timers_.cancel(timer_); }

void StorageWatch::later(Millis delay, void (StorageWatch::*next)()) {
  timers_.cancel(timer_);
  timer_ = timers_.at(clock_.now() + delay, [this, next] {
    timer_ = 0;
    (this->*next)();
  });
}

void StorageWatch::begin() { later(kPeriodMs, &StorageWatch::begin_round); }

void StorageWatch::measure_all(bool all) {
  if (std::exchange(all_, all) == all) return;
  full_rounds_ = 0;
  if (all && left_.empty()) later(0, &StorageWatch::begin_round);
}

void StorageWatch::measure_again() {
  full_rounds_ = 0;
  left_.clear();
  meter_.reset();
  later(0, &StorageWatch::begin_round);
}

const PodDisk* StorageWatch::of(const Tag& tag) const {
  const auto found = measured_.find(tag);
  return found == measured_.end() ? nullptr : &found->second;
}

void StorageWatch::begin_round() {
  std::set<Tag> running;
  round_is_full_ = all_;
  world_.for_each_running([&](const Tag& tag, const std::string& directory, const std::string& manifest) {
    running.insert(tag);
    if (all_ || may_have_storage_limits(manifest)) left_.push_back({tag, directory, manifest});
  });
  std::partition(left_.begin(), left_.end(), [this](const Entry& each) { return late_.contains(each.tag); });
  std::erase_if(late_, [&](const Tag& tag) { return !running.contains(tag); });
  std::erase_if(measured_, [&](const auto& each) { return !running.contains(each.first); });
  step();
}

void StorageWatch::step() {
  if (left_.empty()) {
    if (round_is_full_ && all_) ++full_rounds_;
    return later(kPeriodMs, &StorageWatch::begin_round);
  }
  if (!meter_) {
    const Result<Json> manifest = Json::parse(left_.back().manifest);
    spec_ = manifest ? member(*manifest, "spec") : Json();
    meter_.emplace(left_.back().directory, spec_);
    meter_since_ = clock_.now();
  }
  if (std::optional<PodDisk> disk = meter_->step(kEntriesAtOnce)) {
    late_.erase(left_.back().tag);
    end_pod(std::move(*disk));
  } else if (clock_.now() - meter_since_ >= kMostMs) {
    late_.insert(left_.back().tag);
    end_pod(meter_->give_up());
  }
  later(kPauseMs, &StorageWatch::step);
}

void StorageWatch::end_pod(PodDisk disk) {
  meter_.reset();
  const Entry entry = std::move(left_.back());
  left_.pop_back();
  take(entry, std::move(disk));
}

void StorageWatch::take(const Entry& entry, PodDisk disk) {
  const std::string why = exceeded_storage_limit(spec_, disk);
  // What could be seen of it counts if nothing better is known: a pod has at least that.
  const PodDisk* known = of(entry.tag);
  const bool is_better = known == nullptr || !disk.is_partial || disk.total() > known->total();
  if (is_better) measured_[entry.tag] = std::move(disk);
  if (!why.empty()) world_.exceeds(entry.tag, why);
}

}  // namespace berth
