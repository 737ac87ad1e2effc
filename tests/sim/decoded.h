// Decoded: a cache of decoded payloads. A payload is decoded once, however many times it is delivered. What goes by a
// name that its device has said (N12) has everything that the name stands for, whatever the receiver knows of it.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/handshake/messages.h"
#include "core/handshake/via.h"

namespace berth::sim {

inline constexpr char kGateway[] = "gw";

class Decoded {
 public:
  // Valid until the next call.
  const std::vector<Result<Request>>& requests(const std::string& payload) {
    return find(requests_, payload, [&] {
      std::vector<Result<Request>> requests = decode_requests(payload);
      for (Result<Request>& request : requests) {
        if (request && !request->via.empty()) CHECK(vias_[request->via].resolve(*request));
      }
      return requests;
    });
  }
  // One that goes by a name that nobody has ever said, a lie, has no incarnation.
  const std::vector<Result<Answer>>& answers(const std::string& payload, const std::string& node) {
    return find(answers_, node + " " + payload, [&] {
      std::vector<Result<Answer>> answers = decode_answers(payload, node);
      for (Result<Answer>& answer : answers) {
        if (!answer) continue;
        if (!answer->answers_to.empty()) {
          vias_[answer->answers_to] = {answer->answers_to, kGateway, answer->gateway_id, answer->incarnation};
        }
        vias_[answer->via].resolve(*answer);
      }
      return answers;
    });
  }

 private:
  static constexpr std::size_t kKept = 512;  // about the number of messages in transit at the same time

  template <class Known, class Decode>
  static const typename Known::mapped_type& find(Known& known, const std::string& key, const Decode& decode) {
    if (const auto found = known.find(key); found != known.end()) return found->second;
    if (known.size() >= kKept) known.clear();
    return known.emplace(key, decode()).first->second;
  }

  std::unordered_map<std::string, std::vector<Result<Request>>> requests_;
  std::unordered_map<std::string, std::vector<Result<Answer>>> answers_;
  std::unordered_map<std::string, Via> vias_;  // by name: no two are the same
};

}  // namespace berth::sim
