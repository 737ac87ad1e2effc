// adopt: the operator's decisions after a lost store.
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

Outcome<void> adopt_orphan(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  Json request = Json::object();
  const bool is_pod = find_kind(options.kind)->kind == Kind::pod;
  request.set("op", "adopt").set("kind", is_pod ? "Pod" : "PersistentVolume").set("name", options.name);
  if (is_pod) request.set("namespace", namespace_of(options));
  if (!options.node.empty()) request.set("node", options.node);
  const Outcome<Json> answer = client.ask(std::move(request), false);
  if (!answer) return std::unexpected(answer.error());
  screen.out << (is_pod ? "pod/" : "persistentvolume/") << printable(text_field(*answer, {"key"})) << " "
             << printable(text_field(*answer, {"result"})) << std::endl;
  print_warnings(*answer, screen);
  return {};
}

}  // namespace

Outcome<void> run_adopt(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  if (!options.name.empty()) return adopt_orphan(client, options, screen);
  // Not idempotent: a resent request might end another adopt mode, which began since.
  const Outcome<Json> answer = client.ask(Json(Json::Object{{"op", Json("adopt")}, {"done", Json(true)}}), false);
  if (!answer) return std::unexpected(answer.error());
  screen.out << "adopt mode " << printable(text_field(*answer, {"result"})) << std::endl;
  const std::string unanswered = join_texts(list_field(*answer, {"unanswered"}), ", ");
  if (!unanswered.empty()) screen.out << "not answered: " << printable(unanswered) << std::endl;
  print_warnings(*answer, screen);
  return {};
}

}  // namespace berth
