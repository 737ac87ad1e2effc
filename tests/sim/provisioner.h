// Provisioner: a client of the broker that makes volumes for claims whose node was chosen (plugins/volumes.md), gives
// up on some, and removes those whose claim is gone.
#pragma once

#include <map>
#include <string>

#include "core/handshake/topics.h"
#include "core/transport.h"
#include "tests/sim/process.h"
#include "transports/loopback.h"

namespace berth::sim {

inline constexpr char kMadeClass[] = "made";
inline constexpr std::size_t kMadeClaims = 2;  // "m0", "m1": each has one directory on each of the first two nodes
// The directory of a claim, the same on each node that has one.
std::string made_path(std::size_t claim);

class Provisioner final : private Transport::Handler {
 public:
  explicit Provisioner(SimEnvironment& world);
  ~Provisioner() override { client_.set_handler(nullptr); }

  void connect() { client_.connect(); }
  // Says again which volumes it has made.
  void repeat_all();

 private:
  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void hear_claim(const std::string& key, const std::string& payload);
  void answer(const std::string& key, const Json& claim);
  void make(const std::string& key, const std::string& node);
  void publish(const std::string& topic, const Json& payload);

  SimEnvironment& world_;
  Topics topics_;
  LoopbackClient client_;
  std::map<std::string, std::string> heard_;  // by claim: as last heard
  std::map<std::string, Json> volumes_;       // by name: those that are there
  int made_ = 0;
};

}  // namespace berth::sim
