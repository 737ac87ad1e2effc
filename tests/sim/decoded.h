// Decoded: what payloads say. Each is decoded once on its way from its sender to whoever hears it, as often as it
// comes.
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
  static constexpr std::size_t kKept = 512;  // messages that are on their way at once, or not many fewer

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
