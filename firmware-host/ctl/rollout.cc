// rollout status, pause and resume: how far a Deployment or DaemonSet with a rollout plan is, and holding its waves.
#include <algorithm>
#include <utility>

#include "core/api/rollout_plan.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/rollout_progress.h"
#include "firmware-host/ctl/text.h"

namespace berth {
namespace {

// The object, with its title for messages.
struct RolledOut {
  const KindName* kind = nullptr;
  std::string title;
  Json object;
};

Outcome<const KindName*> rolled_out_kind(const CtlOptions& options) {
  const Outcome<const KindName*> kind = kind_named(options.kind);
  if (!kind || (*kind)->name == "Deployment" || (*kind)->name == "DaemonSet") return kind;
  return fail(Exit::usage, "rollout: requires deployment or daemonset, got " + std::string((*kind)->name));
}

Outcome<RolledOut> fetch_rolled_out(ApiClient& client, const CtlOptions& options) {
  const Outcome<const KindName*> kind = rolled_out_kind(options);
  if (!kind) return std::unexpected(kind.error());
  const std::string name_space = namespace_of(options);
  Outcome<Json> object = client.get(**kind, name_space, options.name, ApiClient::Values::whole);
  if (!object) return std::unexpected(object.error());
  return RolledOut{*kind, title_of(**kind, name_space, options.name), std::move(*object)};
}

// Until the object itself may have changed.
Outcome<void> wait_for_change(ApiClient& client, const std::string& key) {
  while (true) {
    const Outcome<ApiClient::Changes> changes = client.next_changes();
    if (!changes) return std::unexpected(changes.error());
    const bool concerns = std::any_of(changes->list.begin(), changes->list.end(),
                                      [&key](const ApiClient::Change& change) { return change.key == key; });
    if (changes->all || concerns) return {};
  }
}

}  // namespace

Outcome<void> run_rollout_status(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  const Outcome<const KindName*> kind = rolled_out_kind(options);
  if (!kind) return std::unexpected(kind.error());
  if (options.rollout_waits) client.watch((*kind)->kind);
  std::string shown;
  while (screen.out.good()) {
    const Outcome<RolledOut> rolled = fetch_rolled_out(client, options);
    if (!rolled) return std::unexpected(rolled.error());
    const RolloutProgress progress = rollout_progress(rolled->object);
    const std::string line = rolled->title + ": " + progress.text;
    if (progress.state == RolloutProgress::State::failed) return fail(Exit::refused, line);
    if (line != shown) screen.out << line << std::endl;
    shown = line;
    if (progress.state == RolloutProgress::State::done || !options.rollout_waits) return {};
    const Outcome<void> changed = wait_for_change(client, namespace_of(options) + "/" + options.name);
    if (!changed) return changed;
  }
  return {};
}

Outcome<void> run_rollout_pause(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  Outcome<RolledOut> rolled = fetch_rolled_out(client, options);
  if (!rolled) return std::unexpected(rolled.error());
  Json& object = rolled->object;
  if (field(object, {"metadata", "annotations", kRolloutPlan}) == nullptr) {
    return fail(Exit::refused, rolled->title + ": has no rollout plan (annotation " + std::string(kRolloutPlan) + ")");
  }
  const bool pauses = options.command == CtlOptions::Command::rollout_pause;
  Json& annotations = *object.find("metadata")->find("annotations");
  if (pauses) {
    annotations.set(kRolloutPaused, "true");
  } else {
    annotations.erase(kRolloutPaused);
  }
  object.erase("status");
  const Outcome<Json> answer = client.apply(Json::object(), std::move(object), true);
  if (!answer) return fail(answer.error().exit, rolled->title + ": " + answer.error().text);
  screen.out << rolled->title << (pauses ? " paused" : " resumed") << std::endl;
  return {};
}

}  // namespace berth
