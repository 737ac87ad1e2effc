#include "approval.h"

#include "core/api/pod.h"
#include "core/json/field_reader.h"

using namespace berth;

Result<std::unique_ptr<Plugin>> Approval::make(const Json& args, Handle&) {
  Findings findings(Findings::Unknown::refuse);
  const Json given = args.is_null() ? Json::object() : args;
  FieldReader reader(given, "args", findings);
  int timeout_s = 300;
  reader.read_int32("timeoutSeconds", timeout_s, 1, 900);
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return std::unique_ptr<Plugin>(std::make_unique<Approval>(timeout_s));
}

Json Approval::args() const { return Json(Json::Object{{"timeoutSeconds", Json(timeout_s_)}}); }

std::vector<EventWithHint> Approval::events_to_register() const {
  return {{{EventResource::unscheduled_pod, kUpdatePodLabel, "PodLabelChange"}, nullptr}};
}

Status Approval::permit(CycleState&, const Pod& pod, const std::string&, Millis& timeout) {
  if (!pod.metadata.labels.contains("example.com/approval")) return {};
  timeout = Millis{timeout_s_} * 1000;
  return Status(Code::wait, "waits for an operator");
}
