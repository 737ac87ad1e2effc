// Mirror: what the broker retains, against what the gateway holds (M): desired/ shows each object it has accepted and
// no other, status/ each object's and node's status as the gateway tells it when asked.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/handshake/topics.h"
#include "tests/sim/invariants.h"
#include "tests/sim/process.h"
#include "transports/loopback.h"

namespace berth::sim {

// A client that asks the gateway for everything it has.
class Reader final : private Transport::Handler {
 public:
  explicit Reader(SimEnvironment& world);
  ~Reader() override { client_.set_handler(nullptr); }

  void connect() { client_.connect(); }
  // The answers come in the turns that follow.
  void ask_for_all();
  // The status by kind and key, as last answered.
  const std::map<std::pair<Kind, std::string>, Json>& statuses() const { return statuses_; }

 private:
  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void ask(Kind kind, const std::string& from);

  Topics topics_;
  LoopbackClient client_;
  std::map<std::pair<Kind, std::string>, Json> statuses_;
};

Breach find_unlike(const Gateway& gateway, const std::map<std::string, std::string>& retained, const Reader& reader);

}  // namespace berth::sim
