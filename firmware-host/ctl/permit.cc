// waiting, allow and reject: list and decide on pods that a Permit plugin holds back.
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/connection.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

Outcome<Json> fetch_waiting(ApiClient& client, const std::string& name_space) {
  Json items = Json::array();
  for (std::string from;;) {
    Json request = Json::object();
    request.set("op", "waiting").set("namespace", name_space);
    if (!from.empty()) request.set("continue", from);
    const Outcome<Json> page = client.ask(std::move(request), true);
    if (!page) return std::unexpected(page.error());
    for (const Json& item : list_field(*page, {"items"})) items.push_back(item);
    from = text_field(*page, {"continue"});
    if (from.empty()) return items;
  }
}

std::string seconds_text(const Json& plugin) {
  const Json* left = field(plugin, {"remainingMs"});
  return left != nullptr && left->is_integer() ? std::to_string((left->as_int() + 999) / 1000) + "s" : "-";
}

Outcome<void> decide(ApiClient& client, const CtlOptions& options, Json request, const Screen& screen) {
  request.set("namespace", namespace_of(options)).set("name", options.name);
  if (!options.plugin.empty()) request.set("plugin", options.plugin);
  // Not idempotent: a resent request might decide on another attempt of the pod.
  const Outcome<Json> answer = client.ask(std::move(request), false);
  if (!answer) return std::unexpected(answer.error());
  screen.out << "pod/" << printable(text_field(*answer, {"key"})) << " " << printable(text_field(*answer, {"result"}))
             << std::endl;
  return {};
}

}  // namespace

Outcome<void> run_waiting(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  const std::string name_space = options.all_namespaces ? std::string() : namespace_of(options);
  const Outcome<Json> items = fetch_waiting(client, name_space);
  if (!items) return std::unexpected(items.error());
  if (options.form != OutputForm::table) {
    screen.out << document(options.form, Json(Json::Object{{"items", *items}}));
    return {};
  }
  std::vector<Cells> rows = {{"NAMESPACE", "NAME", "NODE", "PLUGIN", "REMAINING"}};
  for (const Json& item : items->as_array()) {
    for (const Json& plugin : list_field(item, {"plugins"})) {
      rows.push_back({text_field(item, {"namespace"}), text_field(item, {"name"}), text_field(item, {"node"}),
                      text_field(plugin, {"name"}), seconds_text(plugin)});
    }
  }
  if (rows.size() == 1) {
    screen.err << "no pods wait on permit" << (name_space.empty() ? "" : " in namespace " + name_space) << "\n";
    return {};
  }
  TableWriter writer;
  for (const Cells& row : rows) writer.measure(row);
  for (const Cells& row : rows) screen.out << writer.line(row);
  return {};
}

Outcome<void> run_allow(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  return decide(client, options, Json(Json::Object{{"op", Json("allow")}}), screen);
}

Outcome<void> run_reject(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  Json request(Json::Object{{"op", Json("reject")}});
  if (!options.reason.empty()) request.set("reason", options.reason);
  return decide(client, options, std::move(request), screen);
}

}  // namespace berth
