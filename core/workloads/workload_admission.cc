#include "core/workloads/workload_admission.h"

#include <utility>

#include "core/api/workload.h"
#include "core/controllers/cron_job/cron_schedule.h"
#include "core/json/members.h"
#include "core/objects/accepting.h"
#include "core/workloads/known_time_zones.h"

namespace berth {

// ValidateCronJobSpec: the time zones are those of this machine.
Status WorkloadAdmission::check_schedule(Kind kind, const Json& manifest) const {
  if (kind != Kind::cron_job) return Status::ok();
  const Json& spec = member(manifest, "spec");
  const TimeZoneFiles& zones = known_time_zones(context_.options);
  if (const std::string zone = spec.string_at("timeZone"); !zone.empty()) {
    if (const Result<TimeZone> known = load_time_zone(zone, zones); !known) {
      return Status::error("spec.timeZone: " + known.error().message());
    }
  }
  const Result<CronSchedule> schedule = CronSchedule::parse(spec.string_at("schedule"), zones);
  return schedule ? Status::ok() : Status::error("spec.schedule: " + schedule.error().message());
}

// Makes of an operator's manifest what is stored.
Result<Accepted> WorkloadAdmission::admit(Kind kind, Json& manifest, const std::string& expected_key) const {
  manifest = as_accepted(kind, std::move(manifest));
  manifest.erase("status");  // the gateway's own
  Accepted accepted;
  if (Status valid = check_workload(kind, manifest, &accepted.warnings, Rules::enforced); !valid.is_success()) {
    return valid;
  }
  if (Status valid = check_schedule(kind, manifest); !valid.is_success()) return valid;
  accepted.key = key_of(kind, manifest);
  if (!expected_key.empty() && accepted.key != expected_key) {
    return Status::error("metadata.name: the object is \"" + accepted.key + "\", the topic says \"" + expected_key +
                         "\"");
  }
  const Workloads::Entry* known = context_.objects.workloads().find(kind, accepted.key);
  manifest = writer_.with_kept_metadata(kind, accepted.key, std::move(manifest));
  accepted.uid = uid_of(manifest);
  accepted.result = known == nullptr ? "created" : manifest == known->manifest ? "unchanged" : "updated";
  if (known == nullptr) {
    if (Status has = context_.admission.capacity(); !has.is_success()) return has;
    return accepted;
  }
  if (known->object->metadata.deletion) {
    return Status::error("the object is being deleted; apply it again when it is gone");
  }
  const Result<ObjectPtr> next = decode_workload(kind, manifest, Rules::off);
  if (!next) return next.error();
  if (Status may = check_workload_update(*known->object, **next); !may.is_success()) return may;
  return accepted;
}

Result<Accepted> WorkloadAdmission::check(Kind kind, const Json& object) {
  Json manifest = object;
  Result<Accepted> accepted = admit(kind, manifest, {});
  const bool is_new = accepted && accepted->result == "created";
  if (is_new) accepted->uid.clear();  // it is not made yet
  return accepted;
}

Result<Accepted> WorkloadAdmission::accept(Kind kind, const Json& object, const std::string& expected_key) {
  Json manifest = object;
  Result<Accepted> accepted = admit(kind, manifest, expected_key);
  if (!accepted || accepted->result == "unchanged") return accepted;
  if (Status kept = writer_.keep(kind, accepted->key, std::move(manifest)); !kept.is_success()) return kept;
  return accepted;
}

Status WorkloadAdmission::remove(Kind kind, const std::string& key, Propagation propagation) {
  const WriteResult removed = writer_.remove(kind, key, {propagation, {}, {}});
  return removed.is_done() ? Status::ok() : Status::error(removed.message);
}

}  // namespace berth
