// The stored form of a pod and what is durable beside it: the value of its record in Table::object.
#pragma once

#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

struct PodRecord {
  bool deleting = false;
  bool finished = false;
  Millis arrived = 0;
  std::string_view uid;    // as ByteWriter::id() writes it; empty in one of an earlier program
  std::string_view shape;  // of the manifest, by uid and name (core/api/shape.h); where there is no uid, the manifest
  std::string_view disruption;
  std::string_view nominated_node;
  std::string_view observed;   // JSON text; empty: none
  std::string_view successor;  // JSON text; empty: none
  std::string_view packed;     // as pack_pod() gave it
};

// Of its pod, whose name is in the record's key.
std::string manifest_text(const PodRecord& record, std::string_view name);
// False: the JSON of an earlier program.
bool is_pod_record(std::string_view stored);
std::string encode(const PodRecord& record);
// The views are into `stored`.
Result<PodRecord> decode_pod_record(std::string_view stored);

}  // namespace berth
