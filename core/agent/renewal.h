// Renewal: when a device asks for its next certificate (N10). A turn of the gateway's, a List, is what it goes by: it
// comes with each connection and every few minutes after it, so nothing here needs a timer.
#pragma once

#include <cstdint>
#include <string>

#include "core/agent/answers.h"
#include "core/agent/reporter.h"
#include "core/certificates.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/handshake/protocol.h"
#include "core/log.h"
#include "core/time_floor.h"
#include "core/transport.h"

namespace berth {

class Renewal {
 public:
  // Gateways before do not know what is asked.
  static constexpr ProtocolVersion kSince{1, 5};
  static constexpr Millis kFirstRetry = Millis{5} * 60 * 1000;  // without an answer; doubles up to kLastRetry
  static constexpr Millis kLastRetry = Millis{60} * 60 * 1000;
  static constexpr Millis kRefusedRetry = Millis{24} * 3600 * 1000;  // unless the gateway says sooner

  struct Parts {
    CertificateKeeper& keeper;
    const NodeState& state;
    Answers& answers;
    Reporter& reporter;
    const Transport& transport;
  };
  // All references outlive it. `floor`: null: only the clock tells the time. `spread`: differs between devices, so that
  // a fleet that was enrolled together does not ask together.
  Renewal(const Parts& parts, const Clock& clock, const TimeFloor* floor, Log& log, std::uint64_t spread);

  // The gateway is there: it is asked, if it is time and it knows the question.
  void on_list(const Request& list);
  // A new connection: what was asked before may be lost.
  void on_connected();
  // What it answered.
  void on_certificate(const Request& answer);

 private:
  bool is_due() const;
  void fail(const std::string& why, Millis retry);

  const Parts parts_;
  const Clock& clock_;
  const TimeFloor* floor_;
  Log& log_;
  const std::uint64_t spread_;
  Millis next_ = 0;  // not asked before
  int unanswered_ = 0;
  std::string problem_;  // why the last attempt failed; empty: none has
};

// When a device with this `spread` begins to ask: between a third and a quarter of the certificate's life before its
// end.
Millis renewal_begins(const CertificateLife& life, std::uint64_t spread);

}  // namespace berth
