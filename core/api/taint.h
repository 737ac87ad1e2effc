// Taints of nodes and the tolerations of pods (core/v1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

enum class TaintEffect { no_schedule, prefer_no_schedule, no_execute };
std::string_view to_string(TaintEffect effect);

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::no_schedule;
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  enum class Operator { equal, exists };
  std::string key;  // empty with exists: all taints
  Operator op = Operator::equal;
  std::string value;
  std::optional<TaintEffect> effect;  // none: every effect
  std::optional<std::int64_t> toleration_seconds;
  bool operator==(const Toleration&) const = default;
};

// k8s.io/api core/v1 Toleration.ToleratesTaint.
bool tolerates(const Toleration& toleration, const Taint& taint);
// True when some toleration tolerates the taint.
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);

}  // namespace berth
