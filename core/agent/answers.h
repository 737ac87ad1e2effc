// Answers: sends the answers to requests, those of one turn to one gateway together. It also keeps the listing whose
// pages a gateway is requesting.
#pragma once

#include <string>

#include "core/agent/listing.h"
#include "core/agent/rollback_watch.h"
#include "core/agent/rules.h"
#include "core/handshake/epoch.h"
#include "core/handshake/messages.h"
#include "core/handshake/topics.h"
#include "core/outbox.h"
#include "core/turn.h"

namespace berth {

// The addressee of an answer that is sent after the turn of its request.
struct ReplyTo {
  std::string gateway;
  GatewayId id;
  Epoch epoch;
};

class Answers {
 public:
  // All references must outlive this.
  Answers(const NodeState& state, const RollbackWatch& watch, const Topics& topics, const std::string& node,
          Turn& turn);

  void send(const std::string& gateway, Answer answer);
  // An answer about the pod `uid`.
  void send(const ReplyTo& to, AnswerType type, const std::string& uid, const std::string& reason);
  // The page that this List asks for.
  void send_page(const Request& request);

 private:
  const NodeState& state_;
  const Topics& topics_;
  const std::string& node_;
  Outbox<Answer> outbox_;
  Listing listing_;
};

}  // namespace berth
