// CrashPoint, and wrappers around a program's interfaces: they make a program die inside its turn. Every external
// effect (a commit, a message, a call of the runtime) asks the crash point first. After the crash point no effect
// happens any more, and the host destroys the program when its turn returns. The product has no hooks for this.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/runtime.h"
#include "core/store.h"
#include "core/transport.h"
#include "storage/memory_store.h"
#include "tests/sim/mutants.h"
#include "tests/sim/record_ids.h"
#include "tests/sim/sabotage.h"
#include "transports/loopback.h"

namespace berth::sim {

class CrashPoint {
 public:
  // Lets this many more effects happen; the program dies at the next one.
  void arm(int effects) {
    left_ = effects;
    armed_ = true;
  }
  void disarm() { armed_ = false; }
  // Asked before each effect. False: the program is dead.
  bool allows_effect() {
    if (reached_ || !armed_) return !reached_;
    reached_ = left_-- == 0;
    return !reached_;
  }
  bool is_reached() const { return reached_; }

 private:
  int left_ = 0;
  bool armed_ = false;
  bool reached_ = false;
};

class CutStore final : public Store {
 public:
  enum class Commit { well, fails_kept, fails_lost };

  // `on_durable`: called when these records on flash may have changed.
  using OnDurable = std::function<void(const RecordIds&)>;
  CutStore(MemoryStore& flash, CrashPoint& point, Sabotage sabotage, Mutant mutant, OnDurable on_durable);

  // The outcome of the next commit that has staged changes.
  void set_next_commit(Commit outcome) { next_commit_ = outcome; }
  bool has_failed() const { return failed_; }

  Status read(const Visit& visit) override { return flash_.read(visit); }
  void put(Table table, const std::string& key, const std::string& value) override;
  void erase(Table table, const std::string& key) override;
  std::uint64_t next_position() const override;
  Status capacity() override { return flash_.capacity(); }
  Status begin(const std::string& key, const std::string& value, int phase) override;
  void advance(const std::string& key, int phase) override;
  Status commit() override;

 private:
  void notify_durable();

  MemoryStore& flash_;
  CrashPoint& point_;
  Sabotage sabotage_;
  Mutant mutant_;
  OnDurable on_durable_;
  RecordIds touched_;
  Commit next_commit_ = Commit::well;
  bool staged_ = false;
  bool begins_ = false, advances_ = false;  // a new row, or a change to phase bind, is staged
  bool failed_ = false;
  bool rash_ = false;  // a mutant hides that the commit failed
};

class CutTransport final : public Transport, public Transport::Handler {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // May change the message. False: it is not sent.
    virtual bool on_send(Message& message) = 0;
    // False: it is not delivered.
    virtual bool on_arrival(Message& message) = 0;
    virtual void on_link_change(bool up) = 0;
    virtual void on_send_window_open() = 0;
  };

  CutTransport(LoopbackClient& client, CrashPoint& point, Watcher& watcher);
  ~CutTransport() override { client_.set_handler(nullptr); }
  CutTransport(const CutTransport&) = delete;
  CutTransport& operator=(const CutTransport&) = delete;

  void set_handler(Transport::Handler* handler) override { handler_ = handler; }
  bool is_up() const override { return client_.is_up(); }
  void send(const Message& message) override;
  std::size_t send_window() const override { return client_.send_window(); }
  void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) override;

  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_send_window() override;

 private:
  LoopbackClient& client_;
  CrashPoint& point_;
  Watcher& watcher_;
  Transport::Handler* handler_ = nullptr;
};

class CutRuntime final : public Runtime {
 public:
  // `blind`: list() hides what the machine still holds.
  CutRuntime(Runtime& machine, CrashPoint& point, bool blind) : machine_(machine), point_(point), blind_(blind) {}

  void set_handler(Handler* handler) override { machine_.set_handler(handler); }
  Result<std::vector<Tag>> list() override { return blind_ ? std::vector<Tag>{} : machine_.list(); }
  Result<std::vector<std::string>> list_others(const std::string& fleet, const std::string& node) override {
    return machine_.list_others(fleet, node);
  }
  void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  Status check(const std::string& pod, const std::vector<BoundVolume>& volumes) override {
    return machine_.check(pod, volumes);
  }
  void undo(const Tag& tag) override;
  Result<std::string> start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void go(const Tag& tag) override;
  void stop(const Tag& tag, Millis grace) override;

 private:
  Runtime& machine_;
  CrashPoint& point_;
  bool blind_;
};

}  // namespace berth::sim
