// ControlledLease: what controllers see of a Lease (coordination.k8s.io).
#pragma once

#include <memory>
#include <string_view>

#include "core/api/workload_meta.h"

namespace berth {

struct ControlledLease : ControlledObject {
  static constexpr std::string_view kKind = "Lease";
  // Where each node has one of its name, which its kubelet renews.
  static constexpr std::string_view kNodeNamespace = "kube-node-lease";
  ControlledLease() : ControlledObject(kKind) {}

  OptionalTime renewed;  // spec.renewTime, milliseconds since 1970
};

}  // namespace berth
