// RuntimeTest: pods as real processes. Every wait is for an event on the loop; a pod that hangs fails at kLimit.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "firmware-host/agent/keeper_runtime.h"
#include "firmware-host/logging.h"
#include "firmware-host/loop.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace fs = std::filesystem;

inline constexpr Millis kLimit = 20000;

struct Event {
  std::string kind;  // "prepared", "status", "stopped"
  Tag tag;
  Status status;
  Json pod_status;
  bool finished = false;
};

class RuntimeTest : public testing::Test, public Runtime::Handler {
 protected:
  RuntimeTest() {
    std::string pattern = fs::temp_directory_path() / "berth-runtime-XXXXXX";
    root_ = mkdtemp(pattern.data());
    node_ = "n" + std::to_string(getpid());
    open_runtime();
  }

  ~RuntimeTest() override {
    if (!runtime_) open_runtime();
    stop_all();
    // A sweeper of the runtime may be at work there too: what it has taken meanwhile is an error here.
    std::error_code error;
    do {
      fs::remove_all(root_, error);
    } while (error == std::errc::no_such_file_or_directory);
    EXPECT_FALSE(error) << root_ << ": " << error.message();
  }

  void stop_all() {
    const std::vector<Tag> left = top().list().value();
    for (const Tag& tag : left) stop(tag, 0);
  }

  // What the tests speak to.
  virtual Runtime& top() { return *runtime_; }

  void open_runtime() {
    KeeperRuntimeConfig config;
    config.fleet = "test";
    config.node = node_;
    config.root = root_ + "/pods";
    config.mount_points = mount_points_;
    config.logs = logs_;
    config.backoff = {1, longest_backoff_ms_, 60000};
    config.spare_after_ms =
        0;  // so that most pods get the spare process; those that are started without prepare() do not
    runtime_ = std::make_unique<KeeperRuntime>(config, loop_.context(), clock_, timers_, log_);
    ASSERT_TRUE(runtime_->open().is_success());
    runtime_->set_handler(this);
  }

  void on_prepared(const Tag& tag, Status status) override {
    events_.push_back({"prepared", tag, std::move(status), {}, false});
    loop_.stop();
  }
  void on_status(const Tag& tag, const std::string& status, bool finished) override {
    events_.push_back({"status", tag, {}, Json::parse(status).value(), finished});
    loop_.stop();
  }
  void on_stopped(const Tag& tag) override {
    events_.push_back({"stopped", tag, {}, {}, false});
    loop_.stop();
  }

  // Runs the loop until an event satisfies `matches`; returns it.
  template <class Predicate>
  Event wait_for(Predicate matches) {
    bool late = false;
    Timers::Id limit = timers_.at(clock_.now() + kLimit, [&] {
      late = true;
      loop_.stop();
    });
    for (;;) {
      while (!events_.empty()) {
        Event event = events_.front();
        events_.erase(events_.begin());
        if (!matches(event)) continue;
        timers_.cancel(limit);
        return event;
      }
      EXPECT_TRUE(loop_.run().is_success());
      if (late) break;
    }
    ADD_FAILURE() << "no matching event within the limit";
    return {};
  }
  Event wait_kind(const std::string& kind) {
    return wait_for([&](const Event& event) { return event.kind == kind; });
  }
  Event wait_finished() {
    return wait_for([](const Event& event) { return event.finished; });
  }

  // For conditions without an event: checks again every millisecond.
  template <class Condition>
  void run_while(Condition condition) {
    const Millis limit = clock_.now() + kLimit;
    while (condition()) {
      ASSERT_LT(clock_.now(), limit) << "condition still true at the limit";
      Timers::Id tick = timers_.at(clock_.now() + 1, [&] { loop_.stop(); });
      EXPECT_TRUE(loop_.run().is_success());
      timers_.cancel(tick);
    }
  }

  void stop(const Tag& tag, Millis grace) {
    top().stop(tag, grace);
    wait_for([&](const Event& event) { return event.kind == "stopped" && event.tag == tag; });
  }

  static std::string pod(const std::string& script, const std::string& policy = "Never", const std::string& more = "") {
    Json command = Json::array();
    for (const std::string& text : {std::string("sh"), std::string("-c"), script}) command.push_back(Json(text));
    return R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":")" + policy + R"(",)" + more +
           R"("containers":[{"name":"main","command":)" + command.dump() + "}]}}";
  }

  // It uses the claim "c" and an emptyDir.
  static std::string with_volumes(const std::string& manifest) {
    Json json = Json::parse(manifest).value();
    Json* spec = json.find("spec");
    spec->set("volumes", Json::parse(R"([{"name":"data","persistentVolumeClaim":{"claimName":"c"}},
                                         {"name":"tmp","emptyDir":{}}])")
                             .value());
    spec->find("containers")
        ->as_array()[0]
        .set("volumeMounts",
             Json::parse(R"([{"name":"data","mountPath":"/d"},{"name":"tmp","mountPath":"/t"}])").value());
    return json.dump();
  }

  // Prepares the pod until it is held ahead of its start; returns its keeper.
  pid_t hold(const Tag& tag, const std::string& manifest) {
    EXPECT_TRUE(runtime_->list().value().empty());
    top().prepare(tag, manifest, {});
    run_while([&] { return keepers(tag).empty(); });
    return keepers(tag).front();
  }
  void start(const Tag& tag, const std::string& manifest, const std::vector<BoundVolume>& volumes = {}) {
    top().prepare(tag, manifest, volumes);
    const Event prepared = wait_kind("prepared");
    ASSERT_TRUE(prepared.status.is_success()) << prepared.status.message();
    const Result<std::string> handle = top().start(tag, manifest, volumes);
    ASSERT_TRUE(handle.has_value()) << handle.error().message();
    handle_ = *handle;
  }
  void run(const Tag& tag, const std::string& manifest, const std::vector<BoundVolume>& volumes = {}) {
    start(tag, manifest, volumes);
    top().go(tag);
  }

  // A pod whose init container runs `before`, so that a status shows when its script starts.
  static std::string after_init(const std::string& before, const std::string& script) {
    Json command = Json(before);
    return pod(script, "Never",
               R"("initContainers":[{"name":"first","command":["sh","-c",)" + command.dump() + R"(]}],)");
  }
  Event wait_delayed() {
    return wait_for([](const Event& event) {
      return event.kind == "status" && event.pod_status.string_at("reason") == PodState::kStartDelayed;
    });
  }
  Event wait_running() {
    return wait_for([](const Event& event) {
      return event.kind == "status" && event.pod_status.find("phase")->as_string() == "Running";
    });
  }

  std::string directory(const Tag& tag) const { return root_ + "/pods/" + tag.uid + "@" + to_text(tag.epoch); }
  std::string read(const std::string& path) const {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // What the container has written in this run and the one before, without times.
  std::string output(const Tag& tag) const {
    std::string contents;
    for (const std::string& name : {previous_log("main"), log_name("main")}) {
      std::istringstream lines(read(directory(tag) + "/" + name));
      for (std::string line; std::getline(lines, line);) {
        std::size_t at = 0;
        for (int field = 0; field < 3; ++field) at = line.find(' ', at) + 1;
        contents += line.substr(at) + "\n";
      }
    }
    return contents;
  }
  pid_t keeper() const { return static_cast<pid_t>(std::strtol(handle_.c_str(), nullptr, 10)); }
  std::vector<pid_t> keepers(const Tag& tag) const {
    std::vector<pid_t> pids;
    for (const Tagged& each : find_keepers(tag_text("test", node_, tag)).value()) pids.push_back(each.process.pid);
    return pids;
  }
  // Children of this process that wait to become a keeper.
  std::vector<pid_t> spares() const { return children_of(getpid(), SpareKeeper::kName); }
  std::vector<pid_t> children_of(pid_t parent, const std::string& called) const {
    std::vector<pid_t> pids;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      const std::string stat = read(entry.path().string() + "/stat");  // "<pid> (<name>) <state> <parent> ..."
      const std::string name = "(" + called + ") ";
      const std::size_t at = stat.find(name);
      if (at == std::string::npos || stat[at + name.size()] == 'Z') continue;
      if (std::strtol(stat.c_str() + at + name.size() + 2, nullptr, 10) != parent) continue;
      pids.push_back(static_cast<pid_t>(std::strtol(stat.c_str(), nullptr, 10)));
    }
    return pids;
  }
  std::size_t alive(const Tag& tag) const { return find_tagged(tag_text("test", node_, tag)).value().size(); }

  // True if a process has this command line.
  bool runs(std::string command) const {
    for (char& c : command) c = c == ' ' ? '\0' : c;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      if (read(entry.path().string() + "/cmdline") == command + '\0') return true;
    }
    return false;
  }

  static const Json& container(const Event& event, std::size_t i = 0) {
    return event.pod_status.find("containerStatuses")->as_array().at(i);
  }
  static std::int64_t exit_code(const Event& event) {
    const Json* ended = container(event).find("state")->find("terminated");
    return ended == nullptr ? -1 : ended->find("exitCode")->as_int();
  }
  static std::string phase(const Event& event) { return event.pod_status.find("phase")->as_string(); }

  const Tag tag_{"u1", {1, 5}};
  std::string root_;
  std::string node_;
  std::vector<std::string> mount_points_;
  LogLimits logs_;
  Millis longest_backoff_ms_ = 4;
  std::string handle_;
  std::vector<Event> events_;
  RealClock clock_;
  Timers timers_;
  SpdLog log_{Level::error, LogFormat::text};
  EventLoop loop_{clock_, timers_};
  std::unique_ptr<KeeperRuntime> runtime_;
};

}  // namespace berth
