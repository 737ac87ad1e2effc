#include "firmware-host/agent/streams/usage_streams.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/json/json.h"
#include "core/json/members.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/process_tree.h"

namespace berth {

namespace {

constexpr std::string_view kContainer = "BERTH_CONTAINER=";

// As its environment names it; empty: it does not.
std::string container_of_process(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with(kContainer)) return variable.substr(kContainer.size());
  }
  return {};
}

Json to_json(const Usage& usage, const Usage* before, Millis interval) {
  Json json = Json::object();
  if (before != nullptr && interval > 0) {
    const std::uint64_t used = usage.cpu_ns - std::min(usage.cpu_ns, before->cpu_ns);
    json.set("cpuMillicores", static_cast<std::int64_t>(used / 1000 / static_cast<std::uint64_t>(interval)));
  }
  json.set("memoryBytes", static_cast<std::int64_t>(usage.memory_bytes));
  return json;
}

}  // namespace

class UsageStreams::Source final : public StreamSource {
 public:
  Source(const UsageStreams& streams, std::function<void()> ready) : streams_(streams), before_(streams.look()) {
    timer_ = streams_.timers_.at(streams_.clock_.now() + kIntervalMs, [this, tell = std::move(ready)] {
      timer_ = 0;
      text_ = streams_.report(before_, streams_.look());
      tell();
    });
  }
  ~Source() override { streams_.timers_.cancel(timer_); }

  Part read(std::size_t bytes_max) override {
    if (timer_ != 0) return {};
    Part part{.bytes = text_.substr(at_, bytes_max)};
    at_ += part.bytes.size();
    part.more = at_ < text_.size();
    if (!part.more) part.end = StreamEnd::done;
    return part;
  }

 private:
  const UsageStreams& streams_;
  const Sample before_;
  std::string text_;
  std::size_t at_ = 0;
  Timers::Id timer_ = 0;
};

UsageStreams::UsageStreams(std::string pods, const PodPlanner& planner,
                           std::function<const std::map<std::string, Slot>&()> slots, const Clock& clock,
                           Timers& timers)
    : pods_(std::move(pods)), planner_(planner), slots_(std::move(slots)), clock_(clock), timers_(timers) {}

Result<OpenedStream> UsageStreams::open(std::function<void()> ready) {
  return OpenedStream{.source = std::make_unique<Source>(*this, std::move(ready))};
}

// Pods of plain processes have no control group: theirs are found by their environment, all in one search.
UsageStreams::Sample UsageStreams::look() const {
  Sample sample;
  sample.at = clock_.now();
  sample.node = usage_of_cgroup("");
  std::map<std::string, std::string> plain;  // uids by tag
  for (const auto& [uid, slot] : slots_()) {
    if (slot.state != SlotState::running) continue;
    const Tag tag{uid, slot.epoch};
    const std::string group = pods_ + "/" + directory_name(tag);
    Containers& containers = sample.pods[uid];
    for (const std::string& name : PodCgroup::names_below(group)) {
      if (const auto usage = usage_of_cgroup(group + "/" + name)) containers[name] = *usage;
    }
    if (containers.empty()) plain[planner_.text_of(tag)] = uid;
  }
  if (plain.empty()) return sample;
  const Result<std::vector<Tagged>> found = find_tagged({});
  if (!found) return sample;
  std::map<std::pair<std::string, std::string>, std::vector<pid_t>> processes;
  for (const Tagged& each : *found) {
    if (const auto pod = plain.find(each.tag); pod != plain.end()) {
      processes[{pod->second, container_of_process(each.process.pid)}].push_back(each.process.pid);
    }
  }
  for (const auto& [of, pids] : processes) {
    if (!of.second.empty()) sample.pods[of.first][of.second] = usage_of_processes(pids);
  }
  return sample;
}

std::string UsageStreams::report(const Sample& before, const Sample& now) const {
  const Millis interval = now.at - before.at;
  Json pods = Json::array();
  for (const auto& [uid, containers] : now.pods) {
    const auto slot = slots_().find(uid);
    if (slot == slots_().end()) continue;
    const Result<Json> manifest = Json::parse(slot->second.pod);
    if (!manifest) continue;
    const auto known = before.pods.find(uid);
    Json list = Json::array();
    for (const auto& [name, usage] : containers) {
      const Usage* earlier = nullptr;
      if (known != before.pods.end()) {
        const auto same = known->second.find(name);
        if (same != known->second.end()) earlier = &same->second;
      }
      Json each = to_json(usage, earlier, interval);
      each.set("name", name);
      list.push_back(std::move(each));
    }
    Json pod = Json::object();
    const Json& metadata = member(*manifest, "metadata");
    pod.set("namespace", metadata.string_at("namespace")).set("name", metadata.string_at("name"));
    pod.set("containers", std::move(list));
    pods.push_back(std::move(pod));
  }
  Json json = Json::object();
  json.set("intervalMs", interval);
  if (now.node) json.set("node", to_json(*now.node, before.node ? &*before.node : nullptr, interval));
  json.set("pods", std::move(pods));
  return json.dump();
}

}  // namespace berth
