// The operator's decisions in adopt mode and after it (P8, P15).
#include "core/gateway/api.h"
#include "core/gateway/api_reply.h"

namespace berth {

Json Api::adopt(const Json& request) {
  const Json* done = request.find("done");
  if (done != nullptr && *done == Json(true)) return end_adopt_mode();
  return api_failure("done: expected true");
}

Json Api::end_adopt_mode() {
  if (!context_.identity->adopting) return api_failure("the gateway is not in adopt mode: nothing waits for it to end");
  if (!context_.mirror.barrier().is_synced()) {
    return api_failure("the gateway is still learning from the broker which nodes there are; try again");
  }
  Json unanswered = Json::array();
  Json warnings = Json::array();
  for (const std::string& node : placement_.adopt_mode().end_by_operator()) unanswered.push_back(node);
  if (!unanswered.as_array().empty()) {
    warnings.push_back(
        "these nodes have not answered: pods that they still run may be placed a second time; what they run when they "
        "connect stays, and without an object it is shown as Orphan");
  }
  Json reply = api_success();
  reply.set("result", "ended").set("unanswered", std::move(unanswered));
  return reply.set("warnings", std::move(warnings));
}

}  // namespace berth
