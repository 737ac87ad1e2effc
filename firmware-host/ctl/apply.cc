// apply, create, delete and forget: the commands that change objects.
#include <utility>

#include "core/json/findings.h"
#include "core/random.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/connection.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/sources.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/true_random.h"

namespace berth {

namespace {

// A failure that ends the command: no answer, or interrupted by the user.
bool is_final(const Failure& failure) { return failure.exit != Exit::refused; }

Json request_of(std::string_view op, const KindName& kind, const std::string& name_space, const std::string& name) {
  Json request = Json::object();
  request.set("op", op).set("kind", kind.name).set("namespace", name_space).set("name", name);
  return request;
}

// Under a uid of ours the pod is re-created once, however often the request arrives.
bool give_uid(Json& object) {
  Json* metadata = object.find("metadata");
  if (metadata == nullptr || !metadata->is_object() || metadata->find("uid") != nullptr) return false;
  metadata->set("uid", Random(true_random()).hex_id());
  return true;
}

Outcome<Json> apply_one(ApiClient& client, const ManifestDocument& manifest, const CtlOptions& options) {
  const bool creates = options.command == CtlOptions::Command::create;
  const bool recreates = options.recreate && manifest.kind->kind == Kind::pod;
  Json object = manifest.object;
  const bool is_named_by_uid = recreates && give_uid(object);
  Json request = Json::object();
  if (recreates && !is_named_by_uid) request.set("recreate", true);
  if (creates) request.set("create", true);
  if (options.dry_run) request.set("dryRun", true);
  // A second create finds the object of the first, or of somebody else who chose the name.
  const bool is_idempotent = creates ? manifest.has_generated_name : !recreates || is_named_by_uid;
  Outcome<Json> answer = client.apply(std::move(request), std::move(object), is_idempotent);
  const bool is_own = creates && client.was_resent() && !answer && answer.error().exit == Exit::refused &&
                      answer.error().text.ends_with(" already exists");
  if (is_own) return Json(Json::Object{{"ok", Json(true)}, {"result", Json("created")}});
  return answer;
}

// What a name made from generateName ends with: five characters, without vowels and digits that look like letters, as
// upstream.
ManifestRules manifest_rules(const CtlOptions& options) {
  ManifestRules rules{namespace_of(options), options.validation, {}};
  // Of what is deleted only kind and name count.
  if (options.command == CtlOptions::Command::remove) rules.validation = Validation::ignore;
  if (options.command != CtlOptions::Command::create) return rules;
  rules.suffix = [random = Random(true_random())]() mutable {
    constexpr std::string_view kCharacters = "bcdfghjklmnpqrstvwxz2456789";
    std::string text;
    for (int i = 0; i < 5; ++i) text += kCharacters[random.below(kCharacters.size())];
    return text;
  };
  return rules;
}

Outcome<void> delete_one(ApiClient& client, const KindName& kind, const std::string& name_space,
                         const std::string& name, const CtlOptions& options, const Screen& screen) {
  const std::string title = title_of(kind, name_space, name);
  const Outcome<Json> answer = client.remove(kind, name_space, name, options.propagation);
  if (!answer) return fail(answer.error().exit, title + ": " + answer.error().text);
  screen.out << title << " " << printable(text_field(*answer, {"result"})) << std::endl;
  print_warnings(*answer, screen, title);
  return {};
}

}  // namespace

Outcome<Manifests> load_manifests(const CtlOptions& options, const Screen& screen) {
  const Outcome<std::vector<std::string>> files = manifest_files(options.files, options.recursive);
  if (!files) return std::unexpected(files.error());
  const ManifestRules rules = manifest_rules(options);
  Manifests manifests;
  std::string unreadable;
  for (const std::string& file : *files) {
    const Outcome<std::string> text = read_text_file(file);
    if (text) {
      read_manifests(file == "-" ? "<stdin>" : file, *text, rules, manifests);
    } else {
      unreadable += text.error().text + "\n";
    }
  }
  for (const std::string& warning : manifests.warnings) screen.err << "warning: " << printable(warning) << "\n";
  if (!unreadable.empty()) return fail(Exit::usage, unreadable + "nothing was sent");
  if (!manifests.valid.empty()) return manifests;
  if (manifests.errors.empty()) return fail(Exit::usage, "the manifests contain no objects");
  std::string wrong;
  for (const std::string& error : manifests.errors) wrong += error + "\n";
  return fail(Exit::usage, wrong + "nothing was sent");
}

void print_warnings(const Json& answer, const Screen& screen, const std::string& title) {
  for (const Json& warning : list_field(answer, {"warnings"})) {
    if (!warning.is_string()) continue;
    screen.err << "warning: " << (title.empty() ? "" : title + ": ") << printable(warning.as_string()) << "\n";
  }
}

Outcome<void> refused(const std::vector<std::string>& wrong, Exit exit) {
  if (wrong.empty()) return {};
  std::string text;
  for (const std::string& line : wrong) text += (text.empty() ? "" : "\n") + line;
  return fail(exit, std::move(text));
}

Outcome<void> run_apply(ApiClient& client, const CtlOptions& options, const Manifests& manifests,
                        const Screen& screen) {
  std::vector<std::string> wrong = manifests.errors;
  for (const ManifestDocument& manifest : manifests.valid) {
    const Outcome<Json> answer = apply_one(client, manifest, options);
    if (!answer) {
      wrong.push_back(manifest.title() + ": " + answer.error().text);
      if (is_final(answer.error())) return refused(wrong, answer.error().exit);
      continue;
    }
    std::string result = text_field(*answer, {"result"});
    if (result == "waiting") result = "waiting for its predecessor to end";
    screen.out << manifest.title() << " " << printable(result) << (options.dry_run ? " (dry run)" : "") << std::endl;
    // Unknown fields were already reported when the manifests were read; show only the gateway's own warnings.
    for (const Json& warning : list_field(*answer, {"warnings"})) {
      const std::string text = warning.is_string() ? warning.as_string() : warning.dump();
      if (!is_about_unknown_field(text)) {
        screen.err << "warning: " << manifest.title() << ": " << printable(text) << "\n";
      }
    }
  }
  return refused(wrong);
}

Outcome<void> run_delete(ApiClient& client, const CtlOptions& options, const Manifests& manifests,
                         const Screen& screen) {
  if (options.files.empty()) {
    const Outcome<const KindName*> kind = kind_named(options.kind);
    if (!kind) return std::unexpected(kind.error());
    const std::string name_space = (*kind)->namespaced ? namespace_of(options) : "";
    return delete_one(client, **kind, name_space, options.name, options, screen);
  }
  std::vector<std::string> wrong = manifests.errors;
  for (auto manifest = manifests.valid.rbegin(); manifest != manifests.valid.rend(); ++manifest) {
    const Outcome<void> done =
        delete_one(client, *manifest->kind, manifest->name_space, manifest->name, options, screen);
    if (done) continue;
    wrong.push_back(done.error().text);
    if (is_final(done.error())) return refused(wrong, done.error().exit);
  }
  return refused(wrong);
}

Outcome<void> run_forget(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  const Outcome<const KindName*> kind = kind_named(options.kind);
  if (!kind) return std::unexpected(kind.error());
  const std::string title = title_of(**kind, "", options.name);
  // Not idempotent: by the time a resent request arrives the node may have come back, with pods of its own.
  const Outcome<Json> answer = client.ask(request_of("forget", **kind, "", options.name), false);
  if (!answer) return fail(answer.error().exit, title + ": " + answer.error().text);
  screen.out << title << " " << printable(text_field(*answer, {"result"})) << std::endl;
  print_warnings(*answer, screen, title);
  return {};
}

}  // namespace berth
