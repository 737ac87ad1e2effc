// get and status: the commands that show objects.
#include <map>
#include <utility>

#include "firmware-host/ctl/broker_certificates.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/events.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/real_clock.h"
#include "firmware-host/yaml.h"

namespace berth {

namespace {

constexpr std::size_t kWatchedWidth = 11;  // "Terminating"

std::string key_of(const KindName& kind, const Json& object) {
  const std::string name = text_field(object, {"metadata", "name"});
  return kind.namespaced ? text_field(object, {"metadata", "namespace"}) + "/" + name : name;
}

// Namespace and name.
std::pair<std::string, std::string> parts_of(const std::string& key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string::npos) return {{}, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

Json pod_of(const std::string& name_space, const std::string& name, Json status) {
  Json metadata = Json::object();
  metadata.set("name", name).set("namespace", name_space).set("uid", text_field(status, {"uid"}));
  Json pod = Json::object();
  pod.set("metadata", std::move(metadata)).set("status", std::move(status));
  return pod;
}

bool is_text(OutputForm form) { return form == OutputForm::json || form == OutputForm::yaml; }

// One `get` with its options, and what it has shown so far.
class View {
 public:
  View(ApiClient& client, const CtlOptions& options, const KindName& kind, const Screen& screen)
      : client_(client), options_(options), kind_(kind), screen_(screen) {
    form_.wide = options.form == OutputForm::wide;
    form_.with_namespace = options.all_namespaces;
    form_.now = RealClock().wall();
    if (is_text(options.form)) values_ = ApiClient::Values::whole;
    if (kind.namespaced && !options.all_namespaces) {
      name_space_ = namespace_of(options);
    }
  }

  Outcome<void> show() {
    Outcome<std::vector<Json>> objects = fetch();
    if (!objects) return std::unexpected(std::move(objects.error()));
    if (is_text(options_.form)) {
      show_documents(*objects);
    } else {
      show_table(*objects);
    }
    for (const Json& object : *objects) shown_[key_of(kind_, object)] = rendered(object);
    screen_.out.flush();
    return {};
  }

  // Shows changes until a signal, or until the output is closed.
  Outcome<void> follow() {
    while (screen_.out.good()) {
      const Outcome<ApiClient::Changes> changes = client_.next_changes();
      if (!changes) return std::unexpected(changes.error());
      Outcome<void> done = changes->all ? report_all() : Outcome<void>();
      for (const ApiClient::Change& change : changes->list) {
        if (done && is_selected(change.key)) done = report(change);
      }
      // A gateway that is unreachable for a while does not end a watch.
      if (!done && done.error().exit == Exit::interrupted) return done;
      if (!done) screen_.err << done.error().text << std::endl;
      screen_.out.flush();
    }
    return {};
  }

 private:
  Outcome<std::vector<Json>> fetch() {
    if (options_.name.empty()) return client_.list(kind_, name_space_, values_);
    Outcome<Json> object = client_.get(kind_, name_space_, options_.name, values_);
    if (!object) return std::unexpected(std::move(object.error()));
    return std::vector<Json>{std::move(*object)};
  }

  void show_documents(const std::vector<Json>& objects) {
    if (options_.watch) {
      for (const Json& object : objects) report_document(object);
      return;
    }
    if (!options_.name.empty()) {
      screen_.out << document(options_.form, objects.front());
      return;
    }
    Json list = Json::object();
    list.set("apiVersion", "v1").set("kind", "List").set("items", Json(Json::Array(objects)));
    screen_.out << document(options_.form, list);
  }

  void show_table(const std::vector<Json>& objects) {
    if (objects.empty() && !options_.watch) {
      screen_.err << "no " << kind_.plural << (name_space_.empty() ? "" : " in namespace " + name_space_) << "\n";
      return;
    }
    const Cells header = table_header(kind_.kind, form_);
    writer_.measure(header);
    // Reserve width, so that later rows align with the first ones.
    if (options_.watch) writer_.measure(Cells(header.size() - 1, std::string(kWatchedWidth, ' ')));
    std::vector<Cells> rows;
    for (const Json& object : objects) rows.push_back(table_row(kind_.kind, object, form_));
    for (const Cells& row : rows) writer_.measure(row);
    screen_.out << writer_.line(header);
    for (const Cells& row : rows) screen_.out << writer_.line(row);
  }

  void report_document(const Json& object) {
    if (options_.form == OutputForm::yaml) screen_.out << "---\n";
    screen_.out << document(options_.form, object);
  }

  // The object as shown, to detect whether it looks different now.
  std::string rendered(const Json& object) const {
    if (is_text(options_.form)) return object.dump();
    std::string text;
    for (const std::string& cell : table_row(kind_.kind, object, form_)) text += cell + '\n';
    return text;
  }

  bool is_selected(const std::string& key) const {
    if (!options_.name.empty()) return key == (kind_.namespaced ? name_space_ + "/" + options_.name : options_.name);
    return name_space_.empty() || key.starts_with(name_space_ + "/");
  }

  void report_object(const Json& object) {
    std::string now = rendered(object);
    std::string& before = shown_[key_of(kind_, object)];
    if (before == now) return;
    before = std::move(now);
    if (is_text(options_.form)) return report_document(object);
    screen_.out << writer_.line(table_row(kind_.kind, object, form_));
  }

  void report_deleted(const std::string& key) {
    if (shown_.erase(key) == 0) return;
    const auto [name_space, name] = parts_of(key);
    screen_.err << title_of(kind_, name_space, name) << " deleted" << std::endl;
  }

  Outcome<void> report(const ApiClient::Change& change) {
    const auto [name_space, name] = parts_of(change.key);
    // A pod's row needs only its status, so no change is missed. The rows of other kinds need the object.
    if (kind_.kind == Kind::pod && !is_text(options_.form) && !change.status.empty()) {
      if (Result<Json> status = Json::parse(change.status)) {
        report_object(pod_of(name_space, name, std::move(*status)));
        return {};
      }
    }
    const Outcome<Json> object = client_.get(kind_, name_space, name, values_);
    if (object) {
      report_object(*object);
    } else if (object.error().exit == Exit::refused) {
      report_deleted(change.key);
    } else {
      return std::unexpected(object.error());
    }
    return {};
  }

  Outcome<void> report_all() {
    const Outcome<std::vector<Json>> objects = fetch();
    if (!objects && objects.error().exit != Exit::refused) return std::unexpected(objects.error());
    std::map<std::string, std::string> deleted = shown_;
    if (objects) {
      for (const Json& object : *objects) {
        deleted.erase(key_of(kind_, object));
        report_object(object);
      }
    }
    for (const auto& [key, text] : deleted) report_deleted(key);
    return {};
  }

  ApiClient& client_;
  const CtlOptions& options_;
  const KindName& kind_;
  Screen screen_;
  TableForm form_;
  ApiClient::Values values_ = ApiClient::Values::sizes;
  std::string name_space_;  // empty: all namespaces, or a cluster-scoped kind
  TableWriter writer_;
  std::map<std::string, std::string> shown_;  // by key: as last shown
};

}  // namespace

Outcome<const KindName*> kind_named(const std::string& text) {
  if (const KindName* kind = find_kind(text)) return kind;
  std::string known;
  for (const KindName& kind : kinds()) known += (known.empty() ? "" : ", ") + std::string(kind.plural);
  return fail(Exit::usage, "unknown kind \"" + text + "\"; use one of " + known);
}

Outcome<void> run_get(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  if (is_events(options.kind)) return run_get_events(client, options, screen);
  const Outcome<const KindName*> kind = kind_named(options.kind);
  if (!kind) return std::unexpected(kind.error());
  View view(client, options, **kind, screen);
  // The watch starts before the listing, so that no change is missed in between.
  if (options.watch) client.watch((*kind)->kind);
  Outcome<void> shown = view.show();
  if (!shown || !options.watch) return shown;
  shown = view.follow();
  // A watch is ended by interrupting it.
  if (!shown && shown.error().exit == Exit::interrupted) return {};
  return shown;
}

Outcome<void> run_status(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  Json request = Json::object();
  request.set("op", "status");
  Outcome<Json> answer = client.ask(std::move(request), true);
  if (!answer) return std::unexpected(std::move(answer.error()));
  answer->erase("ok");
  answer->erase("id");
  if (is_text(options.form)) {
    screen.out << document(options.form, *answer);
    return {};
  }
  const std::string why = text_field(*answer, {"reason"});
  TableWriter writer;
  std::vector<Cells> rows = {{"fleet", text_field(*answer, {"fleet"})},
                             {"gateway", text_field(*answer, {"gateway"})},
                             {"ready", true_field(*answer, {"ready"}) ? "yes" : "no: " + why},
                             {"term", text_field(*answer, {"term"})},
                             {"store", text_field(*answer, {"storeId"})},
                             {"nodes", text_field(*answer, {"nodes"})},
                             {"pods", text_field(*answer, {"pods"})},
                             {"placements", text_field(*answer, {"rows"})},
                             {"pending releases", text_field(*answer, {"releases"})}};
  if (const std::string nodes = join_texts(list_field(*answer, {"waitingFor"}), ", "); !nodes.empty()) {
    rows.push_back({"waiting for", nodes});
  }
  if (const std::string full = text_field(*answer, {"full"}); !full.empty()) {
    rows.push_back({"new objects", "refused: " + full});
  }
  if (const std::string locked = text_field(*answer, {"lockedSecrets"}); !locked.empty()) {
    rows.push_back({"secrets", locked});
  }
  for (const Json& path : list_field(*answer, {"setAside"})) {
    if (path.is_string()) rows.push_back({"set aside", path.as_string()});
  }
  for (const auto& [label, text] : broker_certificates(options.connection.state_dir, RealClock().wall())) {
    rows.push_back({label, text});
  }
  for (const char* queue : {"active", "backoff", "unschedulable", "gated"}) {
    rows.push_back({std::string("queue ") + queue, text_field(*answer, {"queue", queue})});
  }
  for (const Cells& row : rows) writer.measure(row);
  for (const Cells& row : rows) screen.out << writer.line(row);
  return {};
}

}  // namespace berth
