// Provisioner: an MQTT client that creates volumes for claims with a selected node (plugins/volumes.md), gives up on
// some claims, and removes volumes whose claim was deleted.
#pragma once

#include <map>
#include <string>

#include "core/handshake/topics.h"
#include "core/transport.h"
#include "tests/sim/process.h"
#include "transports/loopback.h"

namespace berth::sim {

inline constexpr char kMadeClass[] = "made";
inline constexpr std::size_t kMadeClaims = 2;  // "m0", "m1": each has a directory on each of the first two nodes
// The directory for a claim; the same on both nodes.
std::string made_path(std::size_t claim);

class Provisioner final : private Transport::Handler {
 public:
  explicit Provisioner(SimEnvironment& world);
  ~Provisioner() override { client_.set_handler(nullptr); }

  void connect() { client_.connect(); }
  // Publishes all its volumes again.
  void republish_all();

 private:
  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_claim(const std::string& key, const std::string& payload);
  void answer(const std::string& key, const Json& claim);
  void make(const std::string& key, const std::string& node);
  void publish(const std::string& topic, const Json& payload);

  SimEnvironment& world_;
  Topics topics_;
  LoopbackClient client_;
  std::map<std::string, std::string> last_payload_;  // by claim
  std::map<std::string, Json> volumes_;              // existing ones, by name
  int made_ = 0;
};

}  // namespace berth::sim
