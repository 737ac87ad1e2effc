// Listing: answers List with Slots, page by page. A listing has the slots that existed at its first page, each with its
// state when its page is requested: no slot is listed twice or missed when others go in between.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/agent/rules.h"
#include "core/handshake/messages.h"

namespace berth {

class Listing {
 public:
  static constexpr std::size_t kPageBytes = 58 * 1024;  // a payload may have 64 KiB

  // The requested page; may be requested repeatedly. A page of a listing that this agent no longer knows (it
  // restarted), or a page beyond the last, is answered with page 0 of a new listing with the same id.
  Answer page(const NodeState& state, const Request& request);

 private:
  void start(const NodeState& state, std::uint64_t list_id);

  std::uint64_t list_id_ = 0;
  GatewayId asked_by_;                                               // two gateways may use the same id
  std::vector<std::vector<std::pair<std::string, Epoch>>> pages_{};  // the slots of each page
};

}  // namespace berth
