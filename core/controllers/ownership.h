// Which objects are a controller's: adoption of those that nobody controls, release of those that its selector no
// longer matches (pkg/controller/controller_ref_manager.go).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/selector.h"
#include "core/controllers/cluster_access.h"
#include "core/shared.h"
#include "core/status.h"

namespace berth {

// The reference that makes `owner` the controller of an object.
OwnerReference controller_reference(const ControlledObject& owner, std::string_view api_version);

class Claim {
 public:
  // All must outlive the claim. An empty selector matches everything. `finalizer`: what an adoption adds and a release
  // removes as well; empty: none.
  Claim(ClusterAccess& cluster, const ControlledObject& owner, std::string_view api_version,
        const LabelSelector& selector, std::string_view finalizer = "")
      : cluster_(cluster), owner_(owner), api_version_(api_version), selector_(selector), finalizer_(finalizer) {}

  // Whether the object is the owner's, after it was adopted or released if it should be. `eligible`: whether it may be
  // the owner's at all, besides its labels.
  bool take(const ControlledObject& object, bool eligible = true);
  // Those of the objects that are the owner's, in order.
  template <class T>
  std::vector<std::shared_ptr<const T>> take_all(const std::vector<std::shared_ptr<const T>>& objects) {
    std::vector<std::shared_ptr<const T>> mine;
    for (const std::shared_ptr<const T>& object : objects) {
      if (take(*object)) mine.push_back(object);
    }
    return mine;
  }
  // The failures of writes, apart from those to objects that are gone.
  const Status& status() const { return status_; }

 private:
  bool selects(const ControlledObject& object);
  bool adopt(const ControlledObject& object);
  void release(const ControlledObject& object);
  bool write(const ControlledObject& object, const std::vector<OwnerReference>& owners,
             const std::vector<std::string>& finalizers);

  ClusterAccess& cluster_;
  const ControlledObject& owner_;
  std::string_view api_version_;
  const LabelSelector& selector_;
  std::string_view finalizer_;
  Shared<Labels> last_labels_;  // most objects of an owner share theirs, which are compared once
  std::optional<bool> selects_last_;
  Status status_;
};

}  // namespace berth
