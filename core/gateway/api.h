// Api: requests of clients: one JSON object in, one out, to the client's own topic and nowhere else.
#pragma once

#include <string>

#include "core/gateway/orders.h"
#include "core/gateway/status_view.h"
#include "core/gateway/uploads.h"
#include "core/workloads/workload_controllers.h"

namespace berth {

class Api {
 public:
  // All outlive it.
  Api(const PlacementContext& context, Placement& placement, WorkloadControllers& workloads, Orders& orders,
      const StatusView& view)
      : context_(context), placement_(placement), workloads_(workloads), orders_(orders), view_(view) {}

  void take(const Message& message);

 private:
  Json answer(const Json& request, const std::string& client);
  Json apply(const Json& request, const std::string& client);
  Json apply_object(const Json& request, const Json& object);
  Json dry_run_of(const KindName& kind, const Json& object);
  static Json reply_of(const KindName& kind, const Result<Accepted>& accepted);
  Json remove(const Json& request);
  Json get(const Json& request) const;
  Json get_part(Json object, const Json& part) const;
  Json shown(Kind kind, const std::string& key, const Json& request) const;
  Json describe_object(const Json& request) const;
  Json status() const;
  Json retire(const Json& request);
  // api_events.cc
  Json events(const Json& request) const;
  Json events_of(Kind kind, const std::string& key) const;
  // api_adopt.cc
  Json adopt(const Json& request);
  Json end_adopt_mode();
  Json adopt_pod(const std::string& key, const std::string& node);
  Json adopt_volume(const std::string& name, const std::string& node);
  // api_explain.cc
  Json explain(const Json& request);
  Json plan(const Json& request);
  Result<PodAdmission::Admitted> admit_on_trial(const Json& manifest);
  Json plan_of(const PodAdmission::Admitted& admitted, const Json& request);
  Explanation try_new_pod(const PodAdmission::Admitted& admitted, const Json& request);
  Explanation try_pod(const Pod& pod, const std::string& excluded_uid, const Json& request);
  Json placement_of(const PodEntry& entry) const;
  // api_drain.cc
  Json cordon(const Json& request);
  Json evict(const Json& request);
  // api_permit.cc
  Json waiting(const Json& request) const;
  Json allow(const Json& request);
  Json reject(const Json& request);
  const WaitingPod* waiting_of(const Json& request, std::string& why) const;

  const PlacementContext& context_;
  Placement& placement_;
  WorkloadControllers& workloads_;
  Orders& orders_;
  const StatusView& view_;
  Uploads uploads_;
};

}  // namespace berth
