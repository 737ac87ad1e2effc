// Agent: the device side of the handshake, a state machine over Store and Runtime (handshake.md N0-N5, P10).
// Owns nothing that sleeps: the host feeds messages, link changes and due timers, and ends each turn.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/agent/rules.h"
#include "core/api/objects.h"
#include "core/cache/node_info.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/log.h"
#include "core/random.h"
#include "core/runtime.h"
#include "core/store.h"
#include "core/timers.h"
#include "core/topics.h"
#include "core/transport.h"
#include "core/turn.h"

namespace berth {

struct LocalVolume {  // a directory that the device offers as a local PersistentVolume
  std::string name;
  std::string path;
  std::string capacity;       // quantity text
  std::string storage_class;  // "local"
};

struct AgentConfig {
  std::string fleet;
  std::string node;
  std::string gateway;  // whose requests are answered; its name is in each request too
  Labels labels;
  std::vector<Taint> taints;
  ResourceList capacity;  // allocatable: cpu, memory, pods, ...
  std::vector<LocalVolume> volumes;
  std::string machine_id;  // mixed into the incarnation
  std::string boot_id;     // another one than at the last start: the device rebooted (N5)
  Millis heartbeat_ms = 5000;
};

class Agent final : public Transport::Handler, public Runtime::Handler {
 public:
  Agent(AgentConfig config, const Clock& clock, Transport& transport, Store& store, Runtime& runtime, Timers& timers,
        Log& log, std::uint64_t seed);

  // Reads the store, runs N0 (first boot of a store: everything tagged is stopped before any answer) or the start-up
  // sweep, resumes slots. An error means the store cannot be read; the program must end.
  Status start();
  // Ends the turn: commit, then messages and runtime effects. An error: the program must end and start anew.
  Status finish_turn() { return turn_.finish(); }

  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_prepared(const Tag& tag, Status status) override;
  void on_status(const Tag& tag, const std::string& status, bool finished) override;
  void on_stopped(const Tag& tag) override;

  // The last will to give to the transport when it connects: presence offline.
  Message will() const;
  // Presence offline, on a clean shutdown; workloads keep running.
  void say_goodbye();

  // For status, tests and the simulator's invariants.
  const NodeState& state() const { return state_; }

 private:
  Turn turn_;
  NodeState state_;
  // (further members: the implementer's)
};

}  // namespace berth
