// Fixture for gateways that have lost their store and recover from what the nodes list.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/one_message.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class LostStoreTest : public GatewayTest {
 protected:
  // Starts a gateway without a store; the operator has configured these nodes.
  void lose_store(const std::vector<std::string>& nodes) {
    options.known_nodes = nodes;
    start_connected();
    for (const std::string& node : nodes) device(node);
  }
  // Of a profile that the gateway no longer has, so that no object is made of it (P14).
  static SlotReport slot(const std::string& uid, SlotState state = SlotState::running) {
    return {uid, Epoch{1, 5}, state, pod("p", uid, "900Mi", R"(,"schedulerName":"gone")"), {}};
  }
  // Whether a request of this type for this uid was sent to the node.
  bool was_sent(const std::string& node, RequestType type, const std::string& uid) {
    return std::any_of(transport.sent.begin(), transport.sent.end(), [&](const Message& message) {
      if (message.topic != topics.node_requests(node)) return false;
      const Result<Request> request = decode_request(message.payload);
      return request && request->type == type && request->uid == uid;
    });
  }
  bool is_queued(const std::string& uid) const {
    const auto uids = gateway->scheduler().queue().uids();
    return std::find(uids.begin(), uids.end(), uid) != uids.end();
  }
};

}  // namespace berth
