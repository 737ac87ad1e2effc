// A device that accepts every request at once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/handshake/messages.h"
#include "core/handshake/via.h"

namespace berth::bench {

inline std::string incarnation_of(const std::string& node) { return "inc-" + node; }

// What devices have said that they answer to, by node (N12).
using Vias = std::map<std::string, Via>;

// The device's answers to the requests in a payload; heartbeats are not answered.
inline std::vector<Answer> ready_answers(const std::string& node, const std::string& payload, Vias& vias) {
  std::vector<Answer> answers;
  for (Result<Request>& request : decode_requests(payload)) {
    if (!request || request->type == RequestType::heartbeat) continue;
    Via& via = vias[node];
    if (!request->via.empty() && !via.resolve(*request)) continue;
    if (request->type == RequestType::list) {
      via = {"a" + std::to_string(request->list_id % 100'000), request->gateway, request->gateway_id,
             incarnation_of(node)};
    }
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
    answer.via = request->via;
    if (answer.type == AnswerType::slots) answer.answers_to = via.name;
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace berth::bench
