// The stored form of a pod and what is durable beside it: the value of its record in Table::object.
#pragma once

#include <string>
#include <string_view>

#include "core/api/json.h"
#include "core/clock.h"
#include "core/status.h"

namespace berth {

struct PodRecord {
  bool deleting = false;
  bool finished = false;
  Millis arrived = 0;
  std::string_view manifest;  // JSON text
  std::string_view disruption;
  std::string_view nominated_node;
  std::string_view observed;   // JSON text; empty: none
  std::string_view successor;  // JSON text; empty: none
  std::string_view packed;     // as pack_pod() gave it
};

// False: the JSON of an earlier program.
bool is_pod_record(std::string_view stored);
std::string encode(const PodRecord& record);
// The views are into `stored`.
Result<PodRecord> decode_pod_record(std::string_view stored);

}  // namespace berth
