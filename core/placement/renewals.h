// Renewals: nodes ask for the next certificate under their authenticated name (N10), and the authority is asked for it,
// one at a time. What a device may cost with that is bounded here.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/certificates.h"
#include "core/placement/context.h"
#include "core/placement/request_sender.h"

namespace berth {

class Renewals {
 public:
  static constexpr Millis kAskEvery = Millis{60} * 1000;  // more of one node is dropped
  static constexpr std::size_t kWaitingMax = 64;
  static constexpr std::size_t kPerHour = 120;  // asked of the authority, whoever asks

  // Both outlive it.
  Renewals(const PlacementContext& context, RequestSender& sender) : context_(context), sender_(sender) {}

  // `request`: a signing request, PEM. The node gets its certificate or a reason, in this turn or a later one, or
  // nothing and asks again.
  void take(const std::string& node, const std::string& request);
  // When the certificate expires that the node connects with, as it reports; 0: none.
  void note_end(const std::string& node, Millis end);
  // Why the last renewal failed, by the gateway or by the device's report; empty: none has.
  std::string problem(const std::string& node, const DeviceNode& device) const;
  void forget(const std::string& node) { asked_.erase(node); }

 private:
  struct Asked {
    Millis at = 0;             // on the boot-time clock
    Millis end = 0;            // of the certificate that it had when another one was issued; 0: none was
    std::string refusal = {};  // of the last one
  };
  void next();
  void finish(const std::string& node, const IssuedCertificate& issued);
  void refuse(const std::string& node, const std::string& why, Millis retry_ms);
  bool is_hour_full();

  const PlacementContext& context_;
  RequestSender& sender_;
  std::map<std::string, Asked> asked_;  // by node, of those known
  std::deque<std::pair<std::string, std::string>> waiting_;
  bool is_issuing_ = false;
  std::deque<Millis> begun_;  // in the last hour
};

}  // namespace berth
