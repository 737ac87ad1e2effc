// get and status: what shows objects.
#include <map>
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"
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
    for (const Json& object : *objects) shown_[key_of(kind_, object)] = face_of(object);
    screen_.out.flush();
    return {};
  }

  // Shows what changes, until a signal or until nobody reads any more.
  Outcome<void> follow() {
    while (screen_.out.good()) {
      const Outcome<ApiClient::Changes> changes = client_.next_changes();
      if (!changes) return std::unexpected(changes.error());
      Outcome<void> told = changes->all ? tell_all() : Outcome<void>();
      for (const ApiClient::Change& change : changes->list) {
        if (told && is_wanted(change.key)) told = tell(change);
      }
      // A gateway that is away for a while does not end a watch.
      if (!told && told.error().exit == Exit::interrupted) return told;
      if (!told) screen_.err << told.error().text << std::endl;
      screen_.out.flush();
    }
    return {};
  }

 private:
  Outcome<std::vector<Json>> fetch() {
    if (options_.name.empty()) return client_.list(kind_, name_space_);
    Outcome<Json> object = client_.get(kind_, name_space_, options_.name);
    if (!object) return std::unexpected(std::move(object.error()));
    return std::vector<Json>{std::move(*object)};
  }

  void show_documents(const std::vector<Json>& objects) {
    if (options_.watch) {
      for (const Json& object : objects) tell_document(object);
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
    // What comes later should stand below what came first.
    if (options_.watch) writer_.measure(Cells(header.size() - 1, std::string(kWatchedWidth, ' ')));
    std::vector<Cells> rows;
    for (const Json& object : objects) rows.push_back(table_row(kind_.kind, object, form_));
    for (const Cells& row : rows) writer_.measure(row);
    screen_.out << writer_.line(header);
    for (const Cells& row : rows) screen_.out << writer_.line(row);
  }

  void tell_document(const Json& object) {
    if (options_.form == OutputForm::yaml) screen_.out << "---\n";
    screen_.out << document(options_.form, object);
  }

  // What is compared to find out whether an object looks different now.
  std::string face_of(const Json& object) const {
    if (is_text(options_.form)) return object.dump();
    std::string face;
    for (const std::string& cell : table_row(kind_.kind, object, form_)) face += cell + '\n';
    return face;
  }

  bool is_wanted(const std::string& key) const {
    if (!options_.name.empty()) return key == (kind_.namespaced ? name_space_ + "/" + options_.name : options_.name);
    return name_space_.empty() || key.starts_with(name_space_ + "/");
  }

  void tell_object(const Json& object) {
    std::string face = face_of(object);
    std::string& before = shown_[key_of(kind_, object)];
    if (before == face) return;
    before = std::move(face);
    if (is_text(options_.form)) return tell_document(object);
    screen_.out << writer_.line(table_row(kind_.kind, object, form_));
  }

  void tell_gone(const std::string& key) {
    if (shown_.erase(key) == 0) return;
    const auto [name_space, name] = parts_of(key);
    screen_.err << title_of(kind_, name_space, name) << " is gone" << std::endl;
  }

  Outcome<void> tell(const ApiClient::Change& change) {
    const auto [name_space, name] = parts_of(change.key);
    // A pod's row is all in its status, so that no step is missed. Other kinds show more than that.
    if (kind_.kind == Kind::pod && !is_text(options_.form) && !change.status.empty()) {
      if (Result<Json> status = Json::parse(change.status)) {
        tell_object(pod_of(name_space, name, std::move(*status)));
        return {};
      }
    }
    const Outcome<Json> object = client_.get(kind_, name_space, name);
    if (object) {
      tell_object(*object);
    } else if (object.error().exit == Exit::refused) {
      tell_gone(change.key);
    } else {
      return std::unexpected(object.error());
    }
    return {};
  }

  Outcome<void> tell_all() {
    const Outcome<std::vector<Json>> objects = fetch();
    if (!objects && objects.error().exit != Exit::refused) return std::unexpected(objects.error());
    std::map<std::string, std::string> gone = shown_;
    if (objects) {
      for (const Json& object : *objects) {
        gone.erase(key_of(kind_, object));
        tell_object(object);
      }
    }
    for (const auto& [key, face] : gone) tell_gone(key);
    return {};
  }

  ApiClient& client_;
  const CtlOptions& options_;
  const KindName& kind_;
  Screen screen_;
  TableForm form_;
  std::string name_space_;  // empty: every namespace, or a kind without
  TableWriter writer_;
  std::map<std::string, std::string> shown_;  // by key: the face last shown
};

}  // namespace

Outcome<const KindName*> kind_named(const std::string& text) {
  if (const KindName* kind = find_kind(text)) return kind;
  std::string known;
  for (const KindName& kind : kinds()) known += (known.empty() ? "" : ", ") + std::string(kind.plural);
  return fail(Exit::usage, "\"" + text + "\" is not a kind Berth knows; there are " + known);
}

Outcome<void> run_get(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  const Outcome<const KindName*> kind = kind_named(options.kind);
  if (!kind) return std::unexpected(kind.error());
  View view(client, options, **kind, screen);
  // Watching begins before the listing, so that nothing falls in between.
  if (options.watch) client.watch((*kind)->kind);
  Outcome<void> shown = view.show();
  if (!shown || !options.watch) return shown;
  shown = view.follow();
  // To interrupt a watch is to end it.
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
                             {"releases open", text_field(*answer, {"releases"})}};
  if (const std::string full = text_field(*answer, {"full"}); !full.empty()) {
    rows.push_back({"new objects", "refused: " + full});
  }
  for (const Json& path : list_field(*answer, {"setAside"})) {
    if (path.is_string()) rows.push_back({"set aside", path.as_string()});
  }
  for (const char* queue : {"active", "backoff", "unschedulable", "gated"}) {
    rows.push_back({std::string("queue ") + queue, text_field(*answer, {"queue", queue})});
  }
  for (const Cells& row : rows) writer.measure(row);
  for (const Cells& row : rows) screen.out << writer.line(row);
  return {};
}

}  // namespace berth
