// Topic names: "berth/v1/<fleet>/..." (core/handshake/rules.md, Topics), used by both sides and the simulator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/api/kind.h"

namespace berth {

class Topics {
 public:
  explicit Topics(std::string fleet) : root_("berth/v1/" + std::move(fleet) + "/") {}

  const std::string& root() const { return root_; }
  std::string desired(Kind kind, std::string_view key) const;  // desired/<plural>/[<ns>/]<name>
  std::string status(Kind kind, std::string_view key) const;   // status/<plural>/[<ns>/]<name>
  std::string events(std::string_view name_space) const;       // events/<ns>
  std::string node_state(std::string_view node) const;
  std::string node_presence(std::string_view node) const;
  std::string node_heartbeat(std::string_view node) const;
  std::string node_requests(std::string_view node) const;
  std::string node_pod(std::string_view node, std::string_view pod_key) const;  // nodes/<n>/pods/<ns>/<name>
  std::string answers(std::string_view gateway, std::string_view node) const;
  std::string gateway_presence(std::string_view gateway, std::string_view run) const;
  std::string leader() const { return root_ + "leader"; }
  std::string gateway_api(std::string_view gateway) const;
  std::string gateway_fence(std::string_view gateway) const;  // gateways/<gw>/fence: a barrier, sent to itself
  std::string client(std::string_view identity) const;        // clients/<identity>/answers
  std::string streams(std::string_view node) const;           // streams/<n>/: what its streams' topics begin with
  // streams/<n>/<operator>/<slot>: behind it "/down" is what the operator sends, "/up" what the device sends.
  std::string stream(std::string_view node, std::string_view operator_name, std::string_view slot) const;

  // What follows the root; empty when the topic is not of this fleet.
  std::string_view below_root(std::string_view topic) const;
  // The node whose heartbeats have this topic, if it is a valid name; empty: it is another topic.
  std::string_view heartbeat_sender(std::string_view topic) const;
  // The levels below the root; empty when the topic is not of this fleet.
  std::vector<std::string_view> split(std::string_view topic) const;

 private:
  std::string root_;
};

}  // namespace berth
