// Via: what a device calls a gateway that it obeys, that gateway's term and store id, and its own incarnation, all four
// at once, as said with a listing. Requests and answers that name it are the same as those that say all four (N12).
#pragma once

#include <string>

#include "core/handshake/messages.h"

namespace berth {

struct Via {
  static constexpr std::size_t kMaxName = 16;

  std::string name;  // empty: none
  std::string gateway;
  GatewayId gateway_id;
  std::string incarnation;

  // Fills in what the name in the message stands for; false: it is another name, which stands for nothing here.
  bool resolve(Request& request) const;
  bool resolve(Answer& answer) const;
  bool operator==(const Via&) const = default;
};

}  // namespace berth
