// Any sequence of requests, reports of the runtime, lost connections and crashes, for a device agent. Lines:
//   m <payload>   a request; "@" stands for the agent's incarnation
//   p             the runtime reports a pod as prepared
//   n             ... that a pod cannot be prepared
//   s             ... that a workload has stopped
//   d             ... that a workload has finished by itself
//   t <ms>        time passes
//   l             the connection is lost and re-established
//   c             crash and restart
//   b             reboot
// In every case no turn may fail, and the store must be readable at the next start.
#include <map>
#include <memory>

#include "core/agent/agent.h"
#include "core/check.h"
#include "storage/memory_store.h"
#include "tests/fuzz/environment.h"

namespace berth::fuzz {
namespace {

// A runtime that reports results only when the sequence says so.
class ScriptedRuntime final : public Runtime {
 public:
  void set_handler(Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override { return std::vector<Tag>(items_.begin(), items_.end()); }
  Result<std::vector<std::string>> list_others(const std::string&, const std::string&) override {
    return std::vector<std::string>();
  }
  void prepare(const Tag& tag, const std::string&, const std::vector<BoundVolume>&) override {
    items_.insert(tag);
    preparing_.insert(tag);
  }
  Status check(const std::string&, const std::vector<BoundVolume>&) override { return Status::error("refused"); }
  void undo(const Tag& tag) override {
    items_.erase(tag);
    preparing_.erase(tag);
  }
  Result<std::string> start(const Tag& tag, const std::string&, const std::vector<BoundVolume>&) override {
    items_.insert(tag);
    running_.insert(tag);
    return std::string("1:1");
  }
  void go(const Tag&) override {}
  void stop(const Tag& tag, Millis) override { stopping_.insert(tag); }

  void prepared(bool ok) {
    if (preparing_.empty()) return;
    const Tag tag = *preparing_.begin();
    preparing_.erase(tag);
    handler_->on_prepared(tag, ok ? Status::ok() : Status::error("no"));
  }
  void stopped() {
    if (stopping_.empty()) return;
    const Tag tag = *stopping_.begin();
    stopping_.erase(tag);
    running_.erase(tag);
    items_.erase(tag);
    handler_->on_stopped(tag);
  }
  void finished() {
    if (running_.empty()) return;
    handler_->on_status(*running_.begin(), R"({"phase":"Succeeded"})", true);
  }
  void crash() {
    preparing_.clear();
    stopping_.clear();
  }
  void reboot() {
    crash();
    running_.clear();
    items_.clear();
  }

 private:
  std::set<Tag> items_, preparing_, running_, stopping_;
  Handler* handler_ = nullptr;
};

class AgentRun {
 public:
  AgentRun() {
    config_.fleet = "f";
    config_.node = "n1";
    config_.machine_id = "machine";
    config_.boot_id = "boot";
    config_.capacity = {{"memory", *Quantity::parse("128Mi")}, {"pods", *Quantity::parse("8")}};
    config_.volumes = {{"data", "/srv/data", "1Gi", "local"}};
    start();
  }

  void line(std::string_view line) {
    const std::string_view what = take(line, ' ');
    if (what == "m") {
      Message message;
      message.topic = topics_.node_requests("n1");
      message.payload = with_incarnation(line);
      agent_->on_message(message);
    } else if (what == "p" || what == "n") {
      runtime_.prepared(what == "p");
    } else if (what == "s") {
      runtime_.stopped();
    } else if (what == "d") {
      runtime_.finished();
    } else if (what == "t") {
      return advance(clock_, timers_, millis_of(line), [this] { turn(); });
    } else if (what == "l") {
      transport_.up = false;
      agent_->on_link(false);
      turn();
      connect();
    } else if (what == "c" || what == "b") {
      return restart(what == "b");
    }
    turn();
  }

  void restart(bool reboot) {
    agent_.reset();
    store_.crash();
    reboot ? runtime_.reboot() : runtime_.crash();
    if (reboot) config_.boot_id += "'";
    start();
  }

 private:
  void start() {
    transport_.sent.clear();
    agent_ = std::make_unique<Agent>(config_, clock_, transport_, store_, runtime_, timers_, log_, ++seed_);
    CHECK(agent_->start().is_success());
    connect();
  }
  std::string with_incarnation(std::string_view text) const {
    std::string payload;
    for (const char character : text) {
      character == '@' ? payload += agent_->state().incarnation : payload += character;
    }
    return payload;
  }
  void turn() { CHECK(agent_->finish_turn().is_success()); }
  void connect() {
    transport_.up = true;
    agent_->on_link(true);
    turn();
  }
  AgentConfig config_;
  Topics topics_{"f"};
  HandClock clock_;
  NullLog log_;
  RecordingTransport transport_;
  MemoryStore store_;
  ScriptedRuntime runtime_;
  Timers timers_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<Agent> agent_;
};

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  berth::fuzz::AgentRun run;
  for (std::size_t lines = 0; lines < berth::fuzz::kLinesMax && !text.empty(); ++lines) {
    run.line(berth::fuzz::take(text, '\n'));
  }
  run.restart(false);
  return 0;
}
