// Decoded: a cache of decoded payloads. A payload is decoded once, however many times it is delivered.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/handshake/messages.h"

namespace berth::sim {

class Decoded {
 public:
  // Valid until the next call.
  const std::vector<Result<Request>>& requests(const std::string& payload) {
    return find(requests_, payload, [&] { return decode_requests(payload); });
  }
  const std::vector<Result<Answer>>& answers(const std::string& payload, const std::string& node) {
    return find(answers_, node + " " + payload, [&] { return decode_answers(payload, node); });
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
};

}  // namespace berth::sim
