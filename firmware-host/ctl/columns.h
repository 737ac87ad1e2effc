// The columns of a table, and those of the kinds that controllers look after.
#pragma once

#include <string>
#include <vector>

#include "core/api/kind.h"
#include "core/clock.h"
#include "core/json/json.h"

namespace berth {

struct Column {
  const char* title;
  std::string (*cell)(const Json& object);
  bool wide = false;
  std::string (*timed)(const Json& object, Millis now) = nullptr;  // instead of `cell`
};

// As kubectl has them (pkg/printers/internalversion/printers.go), without the age.
const std::vector<Column>& workload_columns(Kind kind);

}  // namespace berth
