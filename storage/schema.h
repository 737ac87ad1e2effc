// The text of schema.sql, built into the program, and the numbers that mark a file as a store.
#pragma once

#include <cstdint>

namespace berth {

// 2: a single journal. 3: a pod's record refers to the shape of its manifest (core/objects/pod_record.cc); same tables
// as 2.
inline constexpr int kSchemaVersion = 3;
inline constexpr std::int64_t kApplicationId = 0x42525448;  // "BRTH"

extern const char kSchemaSql[];

}  // namespace berth
