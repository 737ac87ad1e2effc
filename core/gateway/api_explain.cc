// Why, and what if: a trial of a pod's scheduling cycle on the live snapshot that leaves no trace.
#include <utility>

#include "core/gateway/api.h"
#include "core/gateway/api_reply.h"
#include "core/handshake/fields.h"
#include "core/placement/immediate_claims.h"

namespace berth {

namespace {

void set_notes(Json& reply, Json notes) {
  if (!notes.as_array().empty()) reply.set("notes", std::move(notes));
}

}  // namespace

Explanation Api::try_pod(const Pod& pod, const std::string& excluded_uid, const Json& request) {
  ExplainOptions how;
  const Json* all = request.find("all_filters");
  how.all_filters = all != nullptr && *all == Json(true);
  how.node = api_text(request, "node");
  how.seed = context_.options.seed;
  return placement_.scheduler().explain(pod, excluded_uid, how);
}

Json Api::placement_of(const PodEntry& entry) const {
  Json placement = Json::object();
  if (const auto found = placement_.state().bindings.find(entry.pod->uid());
      found != placement_.state().bindings.end()) {
    const Row& row = found->second.row;
    placement.set("node", row.node.get()).set("phase", to_string(row.phase)).set("epoch", to_text(row.epoch));
    const std::string& reason = found->second.progress().reason;
    if (!reason.empty()) placement.set("reason", reason);
    return placement;
  }
  if (!entry.finished) return {};
  placement.set("phase", "finished");
  const Json observed = entry.observed.json();
  if (const Json* node = observed.find("node")) placement.set("node", *node);
  return placement;
}

Json Api::explain(const Json& request) {
  const std::string name = api_text(request, "name");
  if (name.empty()) return api_failure("name: expected the name of a pod");
  const std::string name_space = api_text(request, "namespace");
  const std::string key = (name_space.empty() ? "default" : name_space) + "/" + name;
  const PodEntry* entry = context_.objects.pods().find(key);
  if (entry == nullptr) return api_failure("Pod \"" + key + "\" not found");
  const Pod& pod = *entry->pod;
  const Framework* framework = placement_.scheduler().framework_of(pod);
  Json reply = Json::object();
  reply.set("ok", true)
      .set("pod", key)
      .set("uid", pod.uid().get())
      .set("schedulerName", pod.spec->scheduler_name.get());
  if (const std::string why = readiness_of(context_).reason(); !why.empty()) reply.set("notReady", why);
  if (entry->deleting) reply.set("deleting", true);
  Json placement = placement_of(*entry);
  const Json* phase = placement.find("phase");
  const bool placed = phase != nullptr && (*phase == Json("bound") || *phase == Json("finished"));
  reply.set("placed", placed);
  if (!placement.is_null()) reply.set("placement", std::move(placement));
  if (!placed) reply.set("why", view_.why_pending(*entry));
  reply.set("queue", queue_place(placement_.scheduler().queue(), framework, pod.uid(), context_.clock.now()));
  set_notes(reply, view_.node_notes(api_text(request, "node")));
  if (framework == nullptr) return reply;  // `why` names the missing profile
  return reply.set("trial", try_pod(pod, pod.uid(), request).record);
}

Json Api::plan(const Json& request) {
  const Json* manifest = request.find("manifest");
  if (manifest == nullptr || !manifest->is_object()) return api_failure("manifest: expected a JSON object");
  const std::string said = api_text(*manifest, "kind");
  const KindName* kind = find_kind(said);
  if (kind == nullptr || kind->name != said)
    return api_failure("kind: \"" + said + "\" is not a kind that Berth supports");
  if (kind->kind != Kind::pod) return api_failure("kind: only a Pod can be planned, not a " + said + "; apply it");
  const Result<PodAdmission::Admitted> admitted = admit_on_trial(*manifest);
  return admitted ? plan_of(*admitted, request) : reply_of(*kind, admitted.error());
}

Result<PodAdmission::Admitted> Api::admit_on_trial(const Json& manifest) {
  const Random before = context_.random;
  Result<PodAdmission::Admitted> admitted = placement_.pod_admission().admit(manifest, {}, false);
  context_.random = before;  // it may have given the pod a uid
  return admitted;
}

// With the claims of its ephemeral volumes, and the volumes that those get at once.
Explanation Api::try_new_pod(const PodAdmission::Admitted& admitted, const Json& request) {
  const PodEntry* known = context_.objects.pods().find(admitted.pod->metadata.key());
  std::vector<PersistentVolumeClaim> claims = admitted.claims;
  context_.objects.suppose(claims);
  ImmediateClaims(context_, placement_.volumes()).bind_on_trial(claims);
  context_.objects.suppose(claims);
  Explanation tried = try_pod(*admitted.pod, known == nullptr ? Text() : known->pod->uid(), request);
  context_.objects.suppose({});
  return tried;
}

Json Api::plan_of(const PodAdmission::Admitted& admitted, const Json& request) {
  const Pod& pod = *admitted.pod;
  const Framework& framework = *placement_.scheduler().framework_of(pod);
  Json warnings = Json::array();
  for (const std::string& warning : admitted.warnings) warnings.push_back(warning);
  Json reply = Json::object();
  reply.set("ok", true).set("pod", pod.metadata.key()).set("schedulerName", pod.spec->scheduler_name.get());
  reply.set("exists", context_.objects.pods().find(pod.metadata.key()) != nullptr).set("warnings", std::move(warnings));
  if (const std::string why = readiness_of(context_).reason(); !why.empty()) reply.set("notReady", why);
  std::set<std::string> rejecting;
  if (const Status gate = framework.run_pre_enqueue(pod); !gate.is_success()) {
    reply.set("gatedBy", gate.plugin().get()).set("gate", gate.message());
    rejecting.insert(gate.plugin());
  }
  set_notes(reply, view_.node_notes(api_text(request, "node")));
  const Explanation tried = try_new_pod(admitted, request);
  rejecting.insert(tried.result.diagnosis.unschedulable_plugins.begin(),
                   tried.result.diagnosis.unschedulable_plugins.end());
  if (!rejecting.empty()) reply.set("wokenBy", wakers_of(framework, rejecting));
  return reply.set("trial", tried.record);
}

}  // namespace berth
