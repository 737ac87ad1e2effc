#include "core/api/rollout_status.h"

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/api/timestamp.h"
#include "core/api/workload_meta.h"
#include "core/json/field_reader.h"

namespace berth {
namespace {

using Phase = RolloutStatus::Phase;
constexpr std::array kPhases{EnumName<Phase>{"Progressing", Phase::progressing},
                             EnumName<Phase>{"Paused", Phase::paused}, EnumName<Phase>{"Stopped", Phase::stopped},
                             EnumName<Phase>{"Complete", Phase::complete},
                             EnumName<Phase>{"RolledBack", Phase::rolled_back}};

}  // namespace

std::string_view to_string(RolloutStatus::Phase phase) { return kPhases[static_cast<std::size_t>(phase)].text; }

Json to_json(const RolloutStatus& status) {
  Json json = Json::object();
  json.set("phase", to_string(status.phase)).set("revision", status.revision);
  if (!status.stable_revision.empty()) json.set("stableRevision", status.stable_revision);
  json.set("wave", status.wave).set("waveName", status.wave_name);
  if (status.wave_started) json.set("waveStartTime", to_timestamp(*status.wave_started));
  if (status.soaking_since) json.set("soakStartTime", to_timestamp(*status.soaking_since));
  if (!status.failed.empty()) json.set("failed", to_json(status.failed));
  Json silent = Json::object();
  for (const auto& [node, since] : status.silent_on_trial) silent.set(node, to_timestamp(since));
  if (!status.silent_on_trial.empty()) json.set("silentOnTrial", std::move(silent));
  json.set("message", status.message);
  return json;
}

void decode::read_rollout_status(FieldReader& status, std::optional<RolloutStatus>& out) {
  status.read_object("rollout", [&out](FieldReader& reader) {
    RolloutStatus& rollout = out.emplace();
    reader.read_enum("phase", kPhases, rollout.phase);
    reader.read_string("revision", rollout.revision);
    reader.read_string("stableRevision", rollout.stable_revision);
    reader.read_int32("wave", rollout.wave, 0);
    reader.read_string("waveName", rollout.wave_name);
    read_time(reader, "waveStartTime", rollout.wave_started);
    read_time(reader, "soakStartTime", rollout.soaking_since);
    reader.read_list("failed", rollout.failed);
    std::map<std::string, std::string> silent;
    reader.read_strings("silentOnTrial", silent);
    for (const auto& [node, since] : silent) {
      if (const std::optional<Millis> read = parse_timestamp(since)) rollout.silent_on_trial.emplace(node, *read);
    }
    reader.read_string("message", rollout.message);
  });
}

}  // namespace berth
