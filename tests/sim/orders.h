// Orders: an operator publishes one version of an object as a retained message, then another version by the API or not
// retained, and the gateway loses its connection before the broker gets its mirror (ORDER): the later version must win.
// The network keeps the order of messages here; otherwise the later version would be undefined.
#pragma once

#include <functional>
#include <string>

#include "core/handshake/topics.h"
#include "core/random.h"
#include "tests/sim/invariants.h"
#include "tests/sim/process.h"
#include "tests/sim/sim_gateway.h"
#include "transports/loopback.h"

namespace berth::sim {

class Orders {
 public:
  Orders(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed);

  void connect() { client_.connect(); }
  // Runs some rounds after the fault phase. `run`: lets time pass; false if another invariant was violated.
  Breach find_undone(const std::function<bool(Millis)>& run);
  // What find_undone() found came after the broker's retained set went back (S15).
  bool has_gone_back() const { return has_gone_back_; }

 private:
  struct Round {
    Kind kind = Kind::pod;
    std::string name, key;
    std::string uid;               // of a pod; empty: the gateway assigns one
    bool deletes = false;          // the second version is a delete
    bool recreates = false;        // the second version is another pod of the same name
    bool by_api = false;           // the second version is sent by the API, else not retained
    bool is_contradicted = false;  // a third version is published while the gateway is disconnected
    bool goes_back = false;        // in the end the broker comes back with what it retained after the first version
  };

  Round draw(int number);
  Breach play(const Round& round, const std::function<bool(Millis)>& run);
  Json manifest(const Round& round, int version, const std::string& uid) const;
  void publish(const Round& round, const Json& payload, bool retain);
  void send_second(const Round& round);
  void cut_off();
  // The version that the gateway holds; 0: no such object, or no gateway.
  int held(const Round& round) const;
  Breach go_back(const Round& round, LoopbackBroker::RetainedSet retained, int expected,
                 const std::function<bool(Millis)>& run);
  Breach find_difference(const Round& round, int expected) const;

  SimEnvironment& world_;
  SimGateway& gateway_;
  Topics topics_;
  LoopbackClient client_;
  Random random_, going_back_;
  bool has_gone_back_ = false;
};

}  // namespace berth::sim
