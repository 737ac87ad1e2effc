// A device that accepts every request at once.
#pragma once

#include <string>
#include <vector>

#include "core/handshake/messages.h"

namespace berth::bench {

inline std::string incarnation_of(const std::string& node) { return "inc-" + node; }

// The device's answers to the requests in a payload; heartbeats are not answered.
inline std::vector<Answer> ready_answers(const std::string& node, const std::string& payload) {
  std::vector<Answer> answers;
  for (const Result<Request>& request : decode_requests(payload)) {
    if (!request || request->type == RequestType::heartbeat) continue;
    Answer answer(request->type == RequestType::pre_bind ? AnswerType::pre_bound
                  : request->type == RequestType::bind   ? AnswerType::bound
                  : request->type == RequestType::list   ? AnswerType::slots
                                                         : AnswerType::released);
    answer.incarnation = incarnation_of(node);
    answer.gateway_id = request->gateway_id;
    answer.uid = request->uid;
    answer.epoch = request->epoch;
    answer.epoch_alone = answer.type == AnswerType::pre_bound || answer.type == AnswerType::bound;
    answer.list_id = request->list_id;
    answer.pages = 1;
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace berth::bench
