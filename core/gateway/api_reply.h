// What the answers of the api have in common.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/handshake/topics.h"
#include "core/json/json.h"
#include "core/status.h"
#include "core/transport.h"

namespace berth {

inline constexpr std::size_t kApiPageBytes = 48 * 1024;
// Of the text of a large object, in one message: as a JSON string of its own it may double.
inline constexpr std::size_t kTextPieceBytes = 28 * 1024;

Json api_failure(const std::string& error);
Json api_success();
// A member of a request that is a string; empty: none.
std::string api_text(const Json& request, std::string_view key);
// "<namespace>/<name>" of the pod that a request names.
std::string api_pod_key(const Json& request);
// The message that answers a client's: `answer` gets the request, a JSON value of any type. An error says why the
// response topic, which can only be the client's own, is refused.
Result<Message> api_answer(const Topics& topics, const Message& message,
                           const std::function<Json(const Json&)>& answer);

}  // namespace berth
