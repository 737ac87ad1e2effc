#include "tests/sim/sim_runtime.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/api/features.h"
#include "tests/sim/sim_pool.h"

namespace berth::sim {

namespace {

// How long the workload runs before it finishes by itself: annotation "sim/lasts-ms"; 0: unlimited. Found in the text
// without parsing, for speed.
Millis lasts_of(std::string_view pod) {
  static constexpr std::string_view kKey = R"("sim/lasts-ms":")";
  const std::size_t at = pod.find(kKey);
  if (at == std::string_view::npos) return 0;
  Millis value = 0;
  const std::string_view text = pod.substr(at + kKey.size());
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

constexpr std::uint64_t kEvictions = 0x45564943;  // of random numbers

bool asks_for_probes(std::string_view pod) { return pod.find("livenessProbe") != std::string_view::npos; }

std::string to_text(const Tag& tag) { return tag.uid + "@" + berth::to_text(tag.epoch); }

SimRuntime::SimRuntime(const VirtualClock& clock, Timers& timers, std::uint64_t seed, Hooks hooks)
    : clock_(clock), timers_(timers), random_(seed), evictions_(seed ^ kEvictions), hooks_(std::move(hooks)) {}

void SimRuntime::note(std::string_view what, const Tag& tag) const {
  hooks_.moved(tag.uid);
  hooks_.note("runtime: " + std::string(what) + " " + to_text(tag));
}

void SimRuntime::later(const Tag& tag, Millis delay, std::function<void()> run) {
  Item& item = items_[tag];
  timers_.cancel(item.timer);
  item.timer = timers_.at(clock_.now() + delay, std::move(run));
}

// A dead agent is not notified; it asks again after its restart.
void SimRuntime::call(const std::function<void(Handler&)>& what) {
  if (handler_ == nullptr) return;
  what(*handler_);
  if (depth_ == 0) hooks_.after_call();
}

Result<std::vector<Tag>> SimRuntime::list() {
  std::vector<Tag> tags;
  for (const auto& [tag, item] : items_) tags.push_back(tag);
  return tags;
}

// The first one whose directory is not there; empty: none.
std::string SimRuntime::missing_volume(const std::vector<BoundVolume>& volumes) const {
  for (const BoundVolume& each : volumes) {
    if (pool_ != nullptr && each.path.starts_with(pool_root_) && !pool_->has(each.volume)) return each.volume;
  }
  return {};
}

void SimRuntime::prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  Item& item = items_[tag];
  if (item.work != Work::preparing && item.work != Work::prepared) {
    return hooks_.misused("prepare of " + to_text(tag) + ", which is past that");
  }
  item.work = Work::preparing;
  item.lasts = lasts_of(pod);
  item.refusal = check(pod, volumes).message();
  note("prepare", tag);
  const bool slow = random_.chance(habits_.slow_percent, 100);
  const Millis delay = slow ? 3000 + static_cast<Millis>(random_.below(9000)) : static_cast<Millis>(random_.below(300));
  if (delay >= 30) return later(tag, delay, [this, tag] { prepared(tag); });
  ++depth_;  // some runtimes call back before they return
  prepared(tag);
  --depth_;
}

Status SimRuntime::check(const std::string& pod, const std::vector<BoundVolume>& volumes) {
  const bool is_to_come = !volumes.empty() && volumes.front().make;  // a pod has one volume
  if (const std::string missing = missing_volume(volumes); !missing.empty() && !is_to_come) {
    return Status::error("volume " + missing + " is not there");
  }
  if (!asks_for_probes(pod)) return Status::ok();
  if (habits_.cannot_probe) return Status::error("no simulated program to probe with");
  if (!features_) return Status::ok();
  const std::vector<Need> missing = missing_of(needs_of(Json::parse(pod).value()), *features_);
  return missing.empty() ? Status::ok() : Status::error("cannot do " + to_text(missing.front()));
}

void SimRuntime::prepared(const Tag& tag) {
  timers_.cancel(items_.at(tag).timer);  // if asked twice, the second answer may come first
  if (const std::string refusal = items_.at(tag).refusal; !refusal.empty()) {
    items_.erase(tag);
    note("refuses", tag);
    return call([&](Handler& handler) { handler.on_prepared(tag, Status::error(refusal)); });
  }
  if (random_.chance(habits_.prepare_fails_percent, 100)) {
    items_.erase(tag);
    note("cannot prepare", tag);
    return call([&](Handler& handler) { handler.on_prepared(tag, Status::error("no space on the simulated disk")); });
  }
  items_.at(tag).work = Work::prepared;
  call([&](Handler& handler) { handler.on_prepared(tag, Status::ok()); });
}

void SimRuntime::undo(const Tag& tag) {
  auto found = items_.find(tag);
  if (found == items_.end()) return;
  const Work work = found->second.work;
  if (work != Work::preparing && work != Work::prepared && work != Work::held && work != Work::ended) {
    return hooks_.misused("undo of " + to_text(tag) + ", which has a live workload");
  }
  if (habits_.undo_is_a_lie) return;
  note("undo", tag);
  timers_.cancel(found->second.timer);
  items_.erase(found);
}

Result<std::string> SimRuntime::start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  Item& item = items_[tag];
  if (item.work == Work::held || item.work == Work::running) return item.pid;
  if (const std::string missing = missing_volume(volumes); !missing.empty()) {
    if (!hooks_.may_lack_volumes()) {
      hooks_.misused("start of " + to_text(tag) + ", whose volume " + missing + " is not there");
    }
    return Status::error("volume " + missing + " is not there");
  }
  if (item.work == Work::ended) {  // while the agent was dead
    later(tag, 5, [this, tag] { report_end(tag); });
    return item.pid;
  }
  if (item.work == Work::stopping || item.work == Work::stopping_idle) {
    hooks_.misused("start of " + to_text(tag) + ", which is being stopped");
    return Status::error("it is being stopped");
  }
  if (random_.chance(habits_.start_fails_percent, 100)) {
    item.work = Work::prepared;
    note("cannot start", tag);
    return Status::error("no such program on the simulated disk");
  }
  timers_.cancel(item.timer);
  item.work = Work::held;
  item.lasts = lasts_of(pod);
  item.volumes = volumes;
  item.pid = std::to_string(100 + ++started_) + ":" + std::to_string(clock_.now());
  note("start", tag);
  return item.pid;
}

void SimRuntime::go(const Tag& tag) {
  auto found = items_.find(tag);
  if (found == items_.end() || found->second.work != Work::held) return;
  found->second.work = Work::running;
  if (evicted_.contains(tag) && !hooks_.may_lack_volumes())
    hooks_.misused(to_text(tag) + " was evicted, and runs again");
  for (const BoundVolume& each : found->second.volumes) {
    if (pool_ != nullptr && pool_->has(each.volume)) pool_->write(each.volume);
  }
  note("go", tag);
  later(tag, 1 + static_cast<Millis>(random_.below(50)), [this, tag] {
    Item& item = items_.at(tag);
    item.timer = 0;
    if (habits_.evicts_percent > 0 && evictions_.chance(habits_.evicts_percent, 100)) {
      later(tag, 1 + static_cast<Millis>(evictions_.below(5000)), [this, tag] { evict(tag); });
    } else if (item.lasts > 0) {
      later(tag, item.lasts, [this, tag] { ended(tag); });
    }
    report(tag, "Running", false);
  });
}

// Decided once, whether an agent lives or not: a device's keeper carries it out.
void SimRuntime::evict(const Tag& tag) {
  Item& item = items_.at(tag);
  item.timer = 0;
  item.evicted = true;
  evicted_.insert(tag);
  note("evicts", tag);
  hooks_.evicted();
  later(tag, static_cast<Millis>(evictions_.below(1500)), [this, tag] { ended(tag); });
}

void SimRuntime::report_end(const Tag& tag) {
  report(tag, items_.at(tag).evicted ? R"(Failed","reason":"Evicted)" : "Succeeded", true);
}

void SimRuntime::ended(const Tag& tag) {
  items_.at(tag).timer = 0;
  items_.at(tag).work = Work::ended;
  hooks_.ended(tag.uid);
  note("ended", tag);
  report_end(tag);
}

void SimRuntime::report(const Tag& tag, std::string_view phase, bool finished) {
  const std::string status = R"({"phase":")" + std::string(phase) + R"("})";
  call([&](Handler& handler) { handler.on_status(tag, status, finished); });
}

void SimRuntime::stop(const Tag& tag, Millis grace) {
  auto found = items_.find(tag);
  if (found == items_.end()) {
    note("nothing to stop of", tag);
    timers_.at(clock_.now() + 1, [this, tag] { call([&](Handler& handler) { handler.on_stopped(tag); }); });
    return;
  }
  Item& item = found->second;
  if (item.work == Work::stopping || item.work == Work::stopping_idle) return;  // the stop is already in progress
  item.work = item.work == Work::running ? Work::stopping : Work::stopping_idle;
  note("stop", tag);
  const Millis longest = std::clamp<Millis>(grace, 1, habits_.longest_stop_ms);
  const Millis delay = static_cast<Millis>(random_.below(static_cast<std::uint64_t>(longest)));
  if (delay >= 20 || item.work == Work::stopping) return later(tag, delay, [this, tag] { stopped(tag); });
  ++depth_;
  stopped(tag);
  --depth_;
}

void SimRuntime::stopped(const Tag& tag) {
  Item& item = items_.at(tag);
  if (habits_.stop_is_a_lie && item.work == Work::stopping) {
    item.work = Work::running;
    item.timer = 0;
  } else {
    timers_.cancel(item.timer);
    items_.erase(tag);
  }
  note("stopped", tag);
  call([&](Handler& handler) { handler.on_stopped(tag); });
}

void SimRuntime::agent_died() {
  handler_ = nullptr;
  depth_ = 0;
}

// Processes are gone; directories and their contents remain.
void SimRuntime::reboot() {
  agent_died();
  for (auto& [tag, item] : items_) {
    timers_.cancel(item.timer);
    if (item.evicted) item.work = Work::ended;
    if (item.work != Work::ended) item.work = Work::prepared;
  }
}

void SimRuntime::for_each(const std::function<void(const Tag& tag, bool alive)>& visit) const {
  for (const auto& [tag, item] : items_) visit(tag, item.work == Work::running || item.work == Work::stopping);
}

bool SimRuntime::is_alive(const Tag& tag) const {
  auto found = items_.find(tag);
  return found != items_.end() && (found->second.work == Work::running || found->second.work == Work::stopping);
}

std::vector<Tag> SimRuntime::alive(const std::string& uid) const {
  std::vector<Tag> tags;
  for (auto item = items_.lower_bound({uid, {}}); item != items_.end() && item->first.uid == uid; ++item) {
    if (is_alive(item->first)) tags.push_back(item->first);
  }
  return tags;
}

std::vector<Tag> SimRuntime::alive() const {
  std::vector<Tag> tags;
  for (const auto& [tag, item] : items_) {
    if (is_alive(tag)) tags.push_back(tag);
  }
  return tags;
}

}  // namespace berth::sim
