// Labels that a device cannot give itself: its host name, which volumes and workloads are pinned by, is the node's
// authenticated name; labels that tell which workloads may go to a node are the operator's (as kube-apiserver's
// NodeRestriction admission plugin has it).
#pragma once

#include <string>
#include <string_view>

#include "core/json/json.h"

namespace berth {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

// Counts only from the operator's overlay: below operator.berth/, node-restriction.kubernetes.io/ or a subdomain of the
// latter.
bool is_operators_label(std::string_view key);
// The label in a device's facts does not count: it is the operator's, or another host name than the node's.
bool is_ignored_label(const std::string& node, std::string_view key, const Json& value);
// What a device's labels (an object) say in vain, for people: "kubernetes.io/hostname=n2, operator.berth/tier=gold";
// empty: nothing. Of many the first few.
std::string ignored_labels(const std::string& node, const Json& labels);

}  // namespace berth
