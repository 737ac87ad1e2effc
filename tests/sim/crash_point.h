// CrashPoint and the wrappers around a program's seams: where a program dies inside its turn. Every effect on the world
// outside it (a commit, a message, a call of the runtime) asks the point first; past it nothing gets out any more, and
// the host drops the program when its turn returns. The product has no hooks for this.
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
  // Dies at the effect after this many more.
  void arm(int effects) {
    left_ = effects;
    armed_ = true;
  }
  void disarm() { armed_ = false; }
  // One effect. False: the program is dead by now.
  bool lets_out() {
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

  // `on_durable`: called when these records of the flash may have changed.
  using OnDurable = std::function<void(const RecordIds&)>;
  CutStore(MemoryStore& flash, CrashPoint& point, Sabotage sabotage, Mutant mutant, OnDurable on_durable);

  // For the next commit that has something staged.
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
  void tell_durable();

  MemoryStore& flash_;
  CrashPoint& point_;
  Sabotage sabotage_;
  Mutant mutant_;
  OnDurable on_durable_;
  RecordIds touched_;
  Commit next_commit_ = Commit::well;
  bool staged_ = false;
  bool begins_ = false, advances_ = false;  // staged: a row, or its phase bind
  bool failed_ = false;
  bool rash_ = false;  // failed, and a mutant says nothing of it
};

class CutTransport final : public Transport, public Transport::Handler {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // May change the message, or take it: false, and it never leaves.
    virtual bool on_send(Message& message) = 0;
    // False: it never arrives.
    virtual bool on_arrival(Message& message) = 0;
    virtual void on_link_change(bool up) = 0;
    virtual void on_room_again() = 0;
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
  // `blind`: it lists nothing of what a machine still holds.
  CutRuntime(Runtime& machine, CrashPoint& point, bool blind) : machine_(machine), point_(point), blind_(blind) {}

  void set_handler(Handler* handler) override { machine_.set_handler(handler); }
  std::vector<Tag> list() override { return blind_ ? std::vector<Tag>{} : machine_.list(); }
  void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
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
