// Answers: sends the answers to requests, those of one turn to one gateway together. It also keeps the listing whose
// pages a gateway is requesting.
#pragma once

#include <string>
#include <vector>

#include "core/agent/listing.h"
#include "core/agent/reports.h"
#include "core/agent/rollback_watch.h"
#include "core/agent/rules.h"
#include "core/handshake/epoch.h"
#include "core/handshake/messages.h"
#include "core/handshake/topics.h"
#include "core/handshake/via.h"
#include "core/outbox.h"
#include "core/random.h"
#include "core/turn.h"

namespace berth {

// The addressee of an answer that is sent after the turn of its request.
struct ReplyTo {
  std::string gateway;
  GatewayId id;
  Epoch epoch;
  std::string via = {};  // as in Request
};

class Answers {
 public:
  // All references must outlive this.
  Answers(const NodeState& state, const RollbackWatch& watch, const Topics& topics, const AgentConfig& config,
          Random& random, Turn& turn);

  // N12: fills in what a request leaves out that goes via a name. False: it cannot be told, and so nothing may follow
  // from the request; it comes again in full.
  bool complete(Request& request) const;

  void begin_session() { has_sent_kept_ = false; }

  void send(const std::string& gateway, Answer answer);
  // An answer about the pod `uid`.
  void send(const ReplyTo& to, AnswerType type, const std::string& uid, const std::string& reason,
            const std::string& refusals = {});
  // The page that this List asks for, with MadeVolumes::unused() and kept().
  void send_page(const Request& request, std::vector<std::string> unused, const std::vector<KeptVolume>& kept);
  // Once a session, beside the first page: whose output is kept. The Release that was to end it may have been lost.
  void send_kept(const Request& list);

 private:
  const NodeState& state_;
  const Topics& topics_;
  const AgentConfig& config_;
  Random& random_;
  Via via_;  // said with the last page 0
  Outbox<Answer> outbox_;
  Listing listing_;
  bool has_sent_kept_ = false;
};

}  // namespace berth
