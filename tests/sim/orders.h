// Orders: operators say one thing of an object in the broker's retained set, then another by the api or unretained, and
// the gateway is cut off before the broker learns of it (ORDER). On a network that keeps its order: elsewhere nobody
// could say which of two words is the later one.
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
  // Some rounds, once the storm is over. `run`: so much time passes; false when something else is wrong.
  Breach find_undone(const std::function<bool(Millis)>& run);

 private:
  struct Round {
    Kind kind = Kind::pod;
    std::string name, key;
    std::string uid;               // of pods; empty: the gateway gives one
    bool deletes = false;          // the second order does
    bool recreates = false;        // or it gives the name to another pod
    bool by_api = false;           // the second order comes so, else unretained
    bool is_contradicted = false;  // a third is said while the gateway is away
  };

  Round draw(int number);
  Breach play(const Round& round, const std::function<bool(Millis)>& run);
  Json manifest(const Round& round, int word, const std::string& uid) const;
  void publish(const Round& round, const Json& payload, bool retain);
  void order(const Round& round);
  void cut_off();
  // The word that the gateway holds; 0: there is no such object, or no gateway.
  int held(const Round& round) const;
  Breach find_unlike(const Round& round, int wanted) const;

  SimEnvironment& world_;
  SimGateway& gateway_;
  Topics topics_;
  LoopbackClient client_;
  Random random_;
};

}  // namespace berth::sim
