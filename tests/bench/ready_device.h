// A device that agrees at once with whatever is asked of it.
#pragma once

#include <optional>
#include <string>

#include "core/handshake/messages.h"

namespace berth::bench {

inline std::string incarnation_of(const std::string& node) { return "inc-" + node; }

// What the device answers to a request; none: it is the gateway's word on a heartbeat, or cannot be read.
inline std::optional<Answer> ready_answer(const std::string& node, const std::string& request_text) {
  const Result<Request> request = decode_request(request_text);
  if (!request || request->type == RequestType::heartbeat) return std::nullopt;
  Answer answer(request->type == RequestType::pre_bind ? AnswerType::pre_bound
                : request->type == RequestType::bind   ? AnswerType::bound
                : request->type == RequestType::list   ? AnswerType::slots
                                                       : AnswerType::released);
  answer.incarnation = incarnation_of(node);
  answer.gateway_id = request->gateway_id;
  answer.uid = request->uid;
  answer.epoch = request->epoch;
  answer.list_id = request->list_id;
  answer.pages = 1;
  return answer;
}

}  // namespace berth::bench
