// Process: one program on one machine: its flash, its link to the broker, its turns, and how it dies and comes back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "core/random.h"
#include "core/status.h"
#include "core/timers.h"
#include "storage/memory_store.h"
#include "tests/sim/counts.h"
#include "tests/sim/crash_point.h"
#include "tests/sim/decoded.h"
#include "tests/sim/mutants.h"
#include "tests/sim/trace.h"
#include "tests/sim/virtual_clock.h"
#include "tests/sim/weather.h"
#include "tests/sim/witness.h"
#include "transports/loopback.h"

namespace berth::sim {

// What the processes of one world share.
struct SimEnvironment {
  VirtualClock clock;
  Timers timers;
  Random random;
  Trace trace;
  Counts counts;
  Sabotage sabotage;
  Mutant mutant = Mutant::none;
  Weather weather;
  LoopbackBroker broker;
  Witness witness;
  Decoded decoded;
  std::vector<std::string> answers;  // payloads the devices sent, the last few: for impostors
  bool persistent_sessions;
  std::uint64_t crash_per_mille;        // chance of a crash at one turn, in the storm
  std::size_t gateway_room = 0;         // messages its link takes at once, of what is retained; 0: without limit
  std::function<void()> check = [] {};  // the invariants
  std::function<void(const std::string& uid)> on_ended = [](const std::string&) {};  // a workload, by itself
  std::function<void(std::string)> misuse;  // a program broke a contract that is no invariant

  SimEnvironment(std::uint64_t seed, Sabotage sabotage_in, bool print);
  Millis pick(Millis from, Millis to) {
    return from + static_cast<Millis>(random.below(static_cast<std::uint64_t>(to - from)));
  }
  // Percent, in the storm only.
  bool chance(std::uint64_t percent) { return weather.is_storm() && random.chance(percent, 100); }
  void say(std::string_view who, std::string_view what) { trace.add(clock.now(), who, what); }
};

class TraceLog final : public Log {
 public:
  TraceLog(SimEnvironment& world, std::string name) : world_(world), name_(std::move(name)) {}
  void write(Level level, std::string_view event, std::initializer_list<Field> fields) override;

 private:
  void note_preempted(std::initializer_list<Field> fields);

  SimEnvironment& world_;
  std::string name_;
};

class Process : private CutTransport::Watcher {
 public:
  Process(SimEnvironment& world, std::string name);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  bool is_alive() const { return run_ != nullptr; }
  void boot();
  // Killed: what was not committed is forgotten; boots again after a while.
  void crash(std::string_view why);
  void kill(std::string_view why);
  // The network loses the connection; it comes back after `away`.
  void lose_link(Millis away);
  void wipe_flash();
  // A record of the flash is cut in half: the program finds it at its next start, and its host sets the store aside.
  void corrupt();
  // While set no commit succeeds: the disk is full, or broken.
  void set_refusing(bool refusing) { refusing_ = refusing; }
  BootClock& clock() { return clock_; }
  // A message of this client, by whatever means; nothing when it is down.
  void forge(const Message& message);

  // On the world's clock.
  std::optional<Millis> next_due() const;
  void run_due();
  void end_turn();

 protected:
  virtual void forget_at_start() = 0;  // of a mutant
  virtual Status start_program(Store& store, Transport& transport, Timers& timers) = 0;
  virtual Status finish_program() = 0;
  virtual void drop_program() = 0;
  virtual Message will() const = 0;
  virtual bool on_send_watched(Message& message) = 0;
  // `alone`: its turn is its own.
  virtual void before_message(Message& message, bool alone) = 0;
  virtual void after_message() = 0;
  // `touched`: in these records only; null: in any.
  virtual void read_flash(const RecordIds* touched = nullptr) = 0;

  SimEnvironment& world() { return world_; }
  const SimEnvironment& world() const { return world_; }
  CrashPoint& point() { return run_->point; }
  MemoryStore& flash() { return flash_; }
  TraceLog& log() { return log_; }

 private:
  // All that one start of the program owns.
  struct Run {
    Run(Process& process, std::string id);
    CrashPoint point;
    Timers timers;
    LoopbackClient client;
    CutTransport transport;
    CutStore store;
    bool doomed = false;    // dies before it sees the message
    bool deferred = false;  // the turn ends in a later timer, with whatever comes until then
    std::optional<Millis> reconnect;
  };

  bool on_send(Message& message) override;
  bool on_arrival(Message& message) override;
  void on_link_change(bool up) override;
  void on_room_again() override { ++world_.counts.faults["link full"]; }
  void turn_over();
  void arm();
  void connect_later(Millis delay);

  SimEnvironment& world_;
  const std::string name_;
  BootClock clock_;
  TraceLog log_;
  MemoryStore flash_;
  std::unique_ptr<Run> run_;
  std::uint64_t generation_ = 0;  // of runs: timers of an earlier one find it gone
  bool link_lost_ = false;
  bool corrupted_ = false;
  bool refusing_ = false;
  Millis away_ = 0;
};

}  // namespace berth::sim
