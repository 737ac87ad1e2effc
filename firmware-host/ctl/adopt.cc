// adopt: the operator's decisions after a lost store.
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"

namespace berth {

Outcome<void> run_adopt(ApiClient& client, const CtlOptions&, const Screen& screen) {
  // Not idempotent: the answer to a resent request would be that nothing waits.
  const Outcome<Json> answer = client.ask(Json(Json::Object{{"op", Json("adopt")}, {"done", Json(true)}}), false);
  if (!answer) return std::unexpected(answer.error());
  screen.out << "adopt mode " << printable(text_field(*answer, {"result"})) << std::endl;
  const std::string unanswered = join_texts(list_field(*answer, {"unanswered"}), ", ");
  if (!unanswered.empty()) screen.out << "not answered: " << printable(unanswered) << std::endl;
  for (const Json& warning : list_field(*answer, {"warnings"})) {
    if (warning.is_string()) screen.err << "warning: " << printable(warning.as_string()) << "\n";
  }
  return {};
}

}  // namespace berth
