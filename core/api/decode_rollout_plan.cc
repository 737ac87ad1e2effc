// RolloutPlan.
#include <algorithm>
#include <array>
#include <set>

#include "core/api/decode_parts.h"
#include "core/api/rollout_plan.h"
#include "core/ascii.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

// "04:30" in minutes after midnight.
std::optional<std::int32_t> minutes_of(const std::string& text) {
  const bool has_form = text.size() == 5 && text[2] == ':' && is_digit(text[0]) && is_digit(text[1]) &&
                        is_digit(text[3]) && is_digit(text[4]);
  if (!has_form) return std::nullopt;
  const int hours = (text[0] - '0') * 10 + text[1] - '0';
  const int minutes = (text[3] - '0') * 10 + text[4] - '0';
  if (hours > 23 || minutes > 59) return std::nullopt;
  return hours * 60 + minutes;
}

bool read_time_of_day(FieldReader& reader, std::string_view key, std::int32_t& out) {
  std::string text;
  if (!reader.read_string(key, text)) {
    reader.require(key, "a time such as \"04:30\"");
    return false;
  }
  const std::optional<std::int32_t> minutes = minutes_of(text);
  if (!minutes) {
    reader.error(key, "expected a time from \"00:00\" to \"23:59\", got " + show_found(Json(text)));
    return false;
  }
  out = *minutes;
  return true;
}

void read_window(FieldReader& reader, DownloadWindow& out) {
  const bool has_start = read_time_of_day(reader, "start", out.start);
  const bool has_end = read_time_of_day(reader, "end", out.end);
  if (has_start && has_end && out.start == out.end) reader.rule("end", "must differ from start");
  std::vector<std::string> names;
  if (!reader.read_list("days", names)) return;
  for (const std::string& name : names) {
    const auto found = std::find(kDays.begin(), kDays.end(), name);
    if (found == kDays.end()) {
      reader.error("days", "expected days from \"Sun\" to \"Sat\", got " + show_found(Json(name)));
    } else {
      out.days.push_back(static_cast<int>(found - kDays.begin()));
    }
  }
}

// At most 100%, as a share of a wave or fleet.
void read_share(FieldReader& reader, std::string_view key, std::optional<IntOrPercent>& out) {
  decode::read_int_or_percent(reader, key, out);
  if (out && out->percent && out->value > 100) {
    reader.rule(key, "must be at most 100%, got " + show_found(*reader.take(key)));
  }
}

void read_wave(FieldReader& reader, decode::WavesOf waves_of, RolloutWave& out) {
  reader.require("name", "a name for messages, \"canary\" say");
  reader.read_checked("name", out.name, is_dns_label, decode::kDnsLabelForm);
  reader.read_object("selector", [&](FieldReader& selector) { decode::read_label_selector(selector, out.selector); });
  if (waves_of == decode::WavesOf::pods && reader.has("selector")) {
    reader.rule("selector", "must be absent in a Deployment, whose pods may run on any node; use upTo, or a DaemonSet");
  }
  read_share(reader, "upTo", out.up_to);
  if (out.up_to && out.up_to->value == 0) reader.rule("upTo", "must not be 0; leave the wave out");
  reader.read_int32("soakSeconds", out.soak_seconds, 0);
}

void check_waves(FieldReader& reader, const std::vector<RolloutWave>& waves) {
  if (waves.empty()) {
    reader.rule("waves", "must have a wave; [{\"name\":\"all\"}] is the shortest plan");
    return;
  }
  std::set<std::string_view> names;
  for (const RolloutWave& wave : waves) {
    if (!names.insert(wave.name).second) reader.rule("waves", "must have different names, got two of " + wave.name);
  }
  const RolloutWave& last = waves.back();
  if (!last.selector.requirements.empty() || last.up_to) {
    reader.rule("waves", "must end with a wave for all that is left; add {\"name\":\"rest\"}");
  }
}

void read_plan(FieldReader& reader, decode::WavesOf waves_of, RolloutPlan& out) {
  static constexpr std::array kOnFailure{EnumName<bool>{"Rollback", true}, EnumName<bool>{"Stop", false}};
  reader.read_each("waves", [&](FieldReader& wave) { read_wave(wave, waves_of, out.waves.emplace_back()); });
  check_waves(reader, out.waves);
  reader.read_each("windows", [&](FieldReader& window) { read_window(window, out.windows.emplace_back()); });
  reader.read_string("timeZone", out.time_zone);
  reader.read_int32("healthySeconds", out.healthy_seconds, 0);
  reader.read_int32("progressDeadlineSeconds", out.progress_deadline_seconds, 1);
  reader.read_int32("offlineDeadlineSeconds", out.offline_deadline_seconds, 0);
  reader.read_int32("maxRestarts", out.max_restarts, 0);
  std::optional<IntOrPercent> max_failed;
  read_share(reader, "maxFailed", max_failed);
  if (max_failed) out.max_failed = *max_failed;
  reader.read_enum("onFailure", kOnFailure, out.rolls_back);
  if (out.progress_deadline_seconds <= out.healthy_seconds) {
    reader.rule("progressDeadlineSeconds",
                "must be greater than healthySeconds, " + std::to_string(out.healthy_seconds));
  }
}

void read_pause(const std::string& text, Findings& findings, Rollout& out) {
  out.paused = text == "true";
  if (out.paused || text == "false") return;
  findings.rule(member_path("metadata.annotations", kRolloutPaused),
                "must be \"true\" or \"false\", got " + show_found(Json(text)));
}

}  // namespace

void decode::read_rollout(const Labels& annotations, WavesOf waves_of, Rules rules, Findings& findings, Rollout& out) {
  if (const auto paused = annotations.find(std::string(kRolloutPaused)); paused != annotations.end()) {
    read_pause(paused->second, findings, out);
  }
  const auto found = annotations.find(std::string(kRolloutPlan));
  if (found == annotations.end()) return;
  const std::string path = member_path("metadata.annotations", kRolloutPlan);
  const Result<Json> json = Json::parse(found->second);
  if (!json) {
    findings.error(path, "expected JSON: " + json.error().message());
    return;
  }
  Findings of_plan(rules == Rules::off ? Findings::Unknown::warn : Findings::Unknown::refuse, rules);
  FieldReader reader(*json, path, of_plan);
  read_plan(reader, waves_of, out.plan.emplace());
  reader.finish();
  if (out.plan->waves.empty()) out.plan.reset();  // with rules off, too, a plan has a wave
  const Status status = of_plan.status();
  for (const std::string& error : status.reasons()) findings.error("", error);
}

}  // namespace berth
