// cordon, uncordon and drain, with the words of kubectl.
#include <algorithm>
#include <optional>
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/drain_plan.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/real_clock.h"

namespace berth {
namespace {

// A budget may have changed, which is not watched: so often it is asked again (kubectl: every 5 s).
constexpr Millis kRetryMs = 5'000;

Outcome<void> set_cordon(ApiClient& client, const std::string& node, bool cordons, const Screen& screen) {
  Json request = Json::object();
  request.set("op", "cordon").set("name", node).set("unschedulable", cordons);
  const Outcome<Json> answer = client.ask(std::move(request), true);
  if (!answer) return std::unexpected(answer.error());
  screen.out << "node/" << node << " " << printable(text_field(*answer, {"result"})) << std::endl;
  return {};
}

// One drain: its pods are asked to go, and waited for.
class Drain {
 public:
  Drain(ApiClient& client, std::vector<DrainedPod> pods, const DrainOptions& options, const Screen& screen)
      : client_(client), screen_(screen) {
    for (DrainedPod& pod : pods) left_.push_back({std::move(pod), false, {}});
    if (options.timeout_ms > 0) ends_ = clock_.now() + options.timeout_ms;
  }

  Outcome<void> run() {
    for (const Left& each : left_) screen_.out << "evicting pod " << title(each.pod) << std::endl;
    while (true) {
      if (const Outcome<void> asked = go_round(); !asked) return asked;
      if (left_.empty()) return {};
      const Millis now = clock_.now();
      if (ends_ && now >= *ends_) return fail(Exit::refused, what_is_left());
      const Millis wait = ends_ ? std::min(kRetryMs, *ends_ - now) : kRetryMs;
      if (const Outcome<ApiClient::Changes> changes = client_.next_changes(wait); !changes) {
        return std::unexpected(changes.error());
      }
    }
  }

 private:
  struct Left {
    DrainedPod pod;
    bool evicted = false;
    std::string told;  // why not, as it was told last
  };

  static std::string title(const DrainedPod& pod) { return printable(pod.name_space + "/" + pod.name); }

  Outcome<void> go_round() {
    for (Left& each : left_) {
      const Outcome<bool> gone = is_gone(each.pod);
      if (!gone) return std::unexpected(gone.error());
      if (*gone) {
        screen_.out << "pod/" << printable(each.pod.name) << " evicted" << std::endl;
        each.pod.uid.clear();
      } else if (!each.evicted) {
        if (const Outcome<void> asked = evict(each); !asked) return asked;
      }
    }
    std::erase_if(left_, [](const Left& each) { return each.pod.uid.empty(); });
    return {};
  }

  // Its name may be another pod's by now.
  Outcome<bool> is_gone(const DrainedPod& pod) {
    const Outcome<Json> object = client_.get(describe(Kind::pod), pod.name_space, pod.name);
    if (object) return text_field(*object, {"metadata", "uid"}) != pod.uid;
    if (object.error().exit == Exit::refused) return true;
    return std::unexpected(object.error());
  }

  Outcome<void> evict(Left& left) {
    Json request = Json::object();
    request.set("op", "evict").set("namespace", left.pod.name_space).set("name", left.pod.name);
    request.set("uid", left.pod.uid);
    const Outcome<Json> answer = client_.ask(std::move(request), true);
    if (answer && text_field(*answer, {"result"}) == "evicted") {
      left.evicted = true;
      return {};
    }
    if (!answer && answer.error().exit != Exit::refused) return std::unexpected(answer.error());
    const std::string why = answer ? text_field(*answer, {"message"}) : answer.error().text;
    if (why != left.told) {
      screen_.err << "error when evicting pods/\"" << printable(left.pod.name) << "\" -n \""
                  << printable(left.pod.name_space) << "\" (will retry): " << printable(why) << std::endl;
    }
    left.told = why;
    return {};
  }

  std::string what_is_left() const {
    std::string text = "drain: the time of --timeout is over; these pods are still there:";
    for (const Left& each : left_) {
      text += "\n  " + title(each.pod) + (each.evicted ? ": evicted, not ended by its device yet" : ": not evicted");
    }
    return text;
  }

  ApiClient& client_;
  const Screen& screen_;
  RealClock clock_;
  std::vector<Left> left_;
  std::optional<Millis> ends_;
};

}  // namespace

Outcome<void> run_cordon(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  return set_cordon(client, options.name, options.command == CtlOptions::Command::cordon, screen);
}

Outcome<void> run_drain(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  if (const Outcome<void> done = set_cordon(client, options.name, true, screen); !done) return done;
  client.watch(Kind::pod);
  const Outcome<std::vector<Json>> pods = client.list(describe(Kind::pod), "");
  if (!pods) return std::unexpected(pods.error());
  DrainPlan plan = plan_drain(*pods, options.name, options.drain);
  if (!plan.error.empty()) {
    return fail(Exit::refused, "unable to drain node \"" + options.name + "\" due to error: " + printable(plan.error));
  }
  if (!plan.warning.empty()) screen.err << "Warning: " << printable(plan.warning) << std::endl;
  if (const Outcome<void> done = Drain(client, std::move(plan.pods), options.drain, screen).run(); !done) return done;
  screen.out << "node/" << options.name << " drained" << std::endl;
  return {};
}

}  // namespace berth
