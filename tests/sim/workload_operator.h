// WorkloadOperator: somebody who applies, scales, rolls out and deletes a Deployment, in a namespace of its own that
// the other operators leave alone.
#pragma once

#include <string>

#include "core/gateway/gateway.h"
#include "core/handshake/topics.h"
#include "core/transport.h"
#include "tests/sim/invariants.h"
#include "tests/sim/process.h"
#include "transports/loopback.h"

namespace berth::sim {

inline constexpr char kWorkloads[] = "work";  // the namespace

class WorkloadOperator final : private Transport::Handler {
 public:
  WorkloadOperator(SimEnvironment& world, std::uint64_t seed);
  ~WorkloadOperator() override { client_.set_handler(nullptr); }

  void connect() { client_.connect(); }
  // One random action.
  void act();
  // Says again what was last decided.
  void say_again();
  // After the fault phase: the pods are those that the Deployment asks for. While some of them find no node, as many of
  // an older version may stay as its limits allow.
  Breach find_difference(const Gateway& gateway) const;

 private:
  void on_message(const Message&) override {}
  void on_link(bool) override {}
  Json manifest() const;

  SimEnvironment& world_;
  Topics topics_;
  LoopbackClient client_;
  Random random_;
  bool exists_ = false;
  int replicas_ = 0;
  int version_ = 0;
};

}  // namespace berth::sim
