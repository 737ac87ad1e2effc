// Process: one program on one machine: its flash, its connection to the broker, its turns, its crashes and restarts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
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
#include "tests/sim/message_shapes.h"
#include "tests/sim/mutants.h"
#include "tests/sim/network_faults.h"
#include "tests/sim/trace.h"
#include "tests/sim/virtual_clock.h"
#include "tests/sim/witness.h"
#include "transports/loopback.h"

namespace berth::sim {

// Shared by all processes of a simulation.
struct SimEnvironment {
  VirtualClock clock;
  Timers timers;
  Random random;
  Trace trace;
  Counts counts;
  Sabotage sabotage;
  Mutant mutant = Mutant::none;
  NetworkFaults network;
  LoopbackBroker broker;
  Witness witness;
  Decoded decoded;
  std::vector<std::string> answers;  // recent payloads sent by devices, replayed by other devices
  bool persistent_sessions;
  bool gateway_store_lost = false;
  std::set<std::string> forgotten_nodes;  // by the operators, at any time
  std::uint64_t crash_per_mille;          // chance of a crash per turn, in the fault phase
  std::size_t gateway_send_window = 0;    // send window of the gateway's client, for retained messages; 0: unlimited
  std::function<void()> check = [] {};    // checks the invariants
  std::function<void(const std::string& uid)> on_ended = [](const std::string&) {};  // a workload finished by itself
  MessageShapes* messages = nullptr;        // gets what the programs send; null: nobody
  std::function<void(std::string)> misuse;  // a program violated a contract that is not one of the invariants

  SimEnvironment(std::uint64_t seed, Sabotage sabotage_in, bool print);
  Millis pick(Millis from, Millis to) {
    return from + static_cast<Millis>(random.below(static_cast<std::uint64_t>(to - from)));
  }
  // In percent; only in the fault phase.
  bool chance(std::uint64_t percent) { return network.is_storm() && random.chance(percent, 100); }
  void note(std::string_view who, std::string_view what) { trace.add(clock.now(), who, what); }
  void record(std::string_view sender, const Message& message) const;
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
  // `client_id`: at the broker; empty: the name.
  Process(SimEnvironment& world, std::string name, const std::string& client_id = {});
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  bool is_alive() const { return run_ != nullptr; }
  void boot();
  // Kills it: uncommitted changes are lost; it boots again after a while.
  void crash(std::string_view why);
  void kill(std::string_view why);
  // The connection is lost; the program reconnects after `away`.
  void lose_link(Millis away);
  void wipe_flash();
  // Replaces the flash by a copy of another one's.
  void copy_flash_of(const Process& other);
  // Truncates a record on flash: the program detects it at its next start, and its host sets the store aside.
  void corrupt();
  // While set, another program takes its connection over: it waits before it connects again.
  void set_contended(bool contended) { contended_ = contended; }
  // While set, commits fail: the disk is full or broken.
  void set_refusing(bool refusing) { refusing_ = refusing; }
  BootClock& clock() { return clock_; }
  // Sends a message as this client, without the program; nothing if it is disconnected.
  void forge(const Message& message);

  // On the simulation's clock.
  std::optional<Millis> next_due() const;
  void run_due();
  void end_turn();

 protected:
  virtual void forget_at_start() = 0;  // for mutants
  virtual Status start_program(Store& store, Transport& transport, Timers& timers) = 0;
  virtual Status finish_program() = 0;
  virtual void drop_program() = 0;
  virtual Message will() const = 0;
  virtual bool on_send_watched(Message& message) = 0;
  // `alone`: the only message of its turn.
  virtual void before_message(Message& message, bool alone) = 0;
  virtual void after_message() = 0;
  // False: it is cut off from the broker.
  virtual bool may_connect() const { return true; }
  // `touched`: only these records may have changed; null: any.
  virtual void read_flash(const RecordIds* touched = nullptr) = 0;

  SimEnvironment& world() { return world_; }
  const SimEnvironment& world() const { return world_; }
  CrashPoint& point() { return run_->point; }
  MemoryStore& flash() { return flash_; }
  const MemoryStore& flash() const { return flash_; }
  TraceLog& log() { return log_; }

 private:
  // Everything that belongs to one start of the program.
  struct Run {
    Run(Process& process, std::string id);
    CrashPoint point;
    Timers timers;
    LoopbackClient client;
    CutTransport transport;
    CutStore store;
    bool dies_before_message = false;  // dies before it handles the message
    bool deferred = false;             // the turn ends in a later timer, with all messages until then
    std::optional<Millis> reconnect;
  };

  bool on_send(Message& message) override;
  bool on_arrival(Message& message) override;
  void on_link_change(bool up) override;
  void on_send_window_open() override { ++world_.counts.faults["send window full"]; }
  void turn_over();
  void arm();
  void connect_later(Millis delay);

  SimEnvironment& world_;
  const std::string name_;
  const std::string client_id_;
  BootClock clock_;
  TraceLog log_;
  MemoryStore flash_;
  std::unique_ptr<Run> run_;
  std::uint64_t generation_ = 0;  // of runs: timers of an earlier run are ignored
  bool link_lost_ = false;
  bool corrupted_ = false;
  bool refusing_ = false;
  bool contended_ = false;
  Millis away_ = 0;
};

}  // namespace berth::sim
