// Mirror: compares the broker's retained messages with the programs (M): desired/ must contain exactly the gateway's
// accepted objects, status/ the status of each object and node as the gateway's API returns it, and nodes/<n>/pods/ the
// status of each slot of that node.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/pod_objects.h"
#include "core/agent/rules.h"
#include "core/agent/runtime.h"
#include "core/handshake/topics.h"
#include "tests/sim/invariants.h"
#include "tests/sim/process.h"
#include "transports/loopback.h"

namespace berth::sim {

// A client that requests all objects from the gateway.
class Reader final : private Transport::Handler {
 public:
  explicit Reader(SimEnvironment& world);
  ~Reader() override { client_.set_handler(nullptr); }

  void connect() { client_.connect(); }
  // The answers arrive in the following turns.
  void ask_for_all();
  // The last answered statuses, by kind and key.
  const std::map<std::pair<Kind, std::string>, Json>& statuses() const { return statuses_; }

 private:
  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void ask(Kind kind, const std::string& from);

  Topics topics_;
  LoopbackClient client_;
  std::map<std::pair<Kind, std::string>, Json> statuses_;
};

Breach find_mirror_difference(const Gateway& gateway, const std::map<std::string, std::string>& retained,
                              const Reader& reader);
// What a device has of the ConfigMaps and Secrets of its bound pods, where that is not what the gateway has. `objects`:
// null: no agent runs.
Breach find_config_difference(const Gateway& gateway, const std::string& node, const PodObjects* objects);
// Output that a device keeps of a pod whose object is gone, or has not finished there (P7).
Breach find_kept_output_without_object(const Gateway& gateway, const std::string& node, const std::vector<Tag>& kept);
Breach find_node_status_difference(const std::string& node, const NodeState& state,
                                   const std::map<std::string, std::string>& retained);

}  // namespace berth::sim
