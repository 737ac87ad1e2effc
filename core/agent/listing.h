// Listing: answers List with Slots, page by page. A listing has the slots that existed at its first page, each with its
// state when its page is requested: no slot is listed twice or missed when others go in between. Behind them it has the
// used volumes that no slot had then.
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
  // `kept`: MadeVolumes::kept().
  Answer page(const NodeState& state, const Request& request, const std::vector<KeptVolume>& kept);

 private:
  struct Page {
    std::vector<std::pair<std::string, Epoch>> slots;
    std::vector<KeptVolume> volumes;
  };

  void start(const NodeState& state, const std::vector<KeptVolume>& kept, std::uint64_t list_id);
  Page& page_for(std::size_t bytes);

  std::uint64_t list_id_ = 0;
  GatewayId asked_by_;  // two gateways may use the same id
  std::vector<Page> pages_{};
  std::size_t last_bytes_ = 0;  // of the last page
};

}  // namespace berth
