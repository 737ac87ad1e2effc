// Listing: answers List with Slots, page by page. One listing tells of the slots there were at its first page, with
// the state they have when their page is asked for: a slot that moved between two pages is in neither twice nor lost.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/agent/rules.h"
#include "core/handshake/messages.h"

namespace berth {

class Listing {
 public:
  static constexpr std::size_t kPageBytes = 58 * 1024;  // of 64 KiB that a payload may have

  // The page asked for; once more when it is asked once more. A page of a listing that this agent no longer knows (it
  // restarted), or beyond the last, is answered by page 0 of a new listing under the same id.
  Answer page(const NodeState& state, const Request& request);

 private:
  void start(const NodeState& state, std::uint64_t list_id);

  std::uint64_t list_id_ = 0;
  GatewayId asked_by_;                                               // two gateways may use one id
  std::vector<std::vector<std::pair<std::string, Epoch>>> pages_{};  // which slots stand on which page
};

}  // namespace berth
