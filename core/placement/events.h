// PlacementEvents: what the lower parts of this room report upwards. Placement carries each out at once.
#pragma once

#include <string>
#include <string_view>

#include "core/api/pod.h"

namespace berth {

struct Row;

// What became of asking a node to take a pod.
enum class PreBindOutcome {
  asked,       // nothing yet
  taken,       // PreBound
  rejected,    // Rejected
  refused,     // Rejected, with a refusal that lasts (D6): it is about this pod, and says nothing of the node
  unanswered,  // the promise limit has passed
  ended,       // any of these, or the pod was given up
};

// What a device says when it rejects PreBind.
struct Refusal {
  std::string reason;
  bool lasts = false;  // the device will say when it may take the pod (D6)
};

class PlacementEvents {
 public:
  virtual ~PlacementEvents() = default;
  // The row of a pod that is being deleted is gone: nothing of it runs any more.
  virtual void pod_gone(const std::string& key) = 0;
  // The row of the pod is gone, and the pod is to be scheduled again.
  virtual void pod_unplaced(const PodPtr& pod) = 0;
  // A slot that kept the uid from being placed has ended.
  virtual void uid_freed(std::string_view uid) = 0;
  // Likewise, other pods of its name.
  virtual void name_freed(const std::string& pod) = 0;
  // The volumes that the node offers are to be compared with those known.
  virtual void local_volumes_freed(const std::string& node) = 0;
  // The device has not been told to start the pod: its prebind is given up.
  virtual void prebind_disproved(std::string_view uid, const std::string& reason) = 0;
  // A row in prebind began, was answered, or ended.
  virtual void prebind_told(const Row& row, PreBindOutcome outcome) = 0;
  // The device has rejected PreBind, and what that means for the row has been done.
  virtual void pod_refused(const Pod& pod, const std::string& node, const std::string& incarnation,
                           const Refusal& refusal) = 0;
  // A claim is deleted for good; the next one of its name is another. False: the store had no capacity for that.
  virtual bool claim_gone(const std::string& claim) = 0;
};

}  // namespace berth
