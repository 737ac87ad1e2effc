// The tables of `berthctl get`: one row per object, with the columns of its kind.
#pragma once

#include <string>
#include <vector>

#include "core/api/kind.h"
#include "core/clock.h"
#include "core/json/json.h"

namespace berth {

struct TableForm {
  bool wide = false;            // more columns
  bool with_namespace = false;  // NAMESPACE first, for kinds that have one
  Millis now = 0;               // the wall clock, for AGE
};

using Cells = std::vector<std::string>;

Cells table_header(Kind kind, const TableForm& form);
// Has as many cells as the header. A cell without a value is "-".
Cells table_row(Kind kind, const Json& object, const TableForm& form);

// The STATUS column of a pod: Terminating, Pending, Scheduled (bound to a node, containers not running yet), Running,
// Succeeded, Failed, or the reason why a container does not run ("CrashLoopBackOff").
std::string pod_status(const Json& pod);

// Columns are as wide as their widest cell so far and three spaces apart; the last one is not padded.
class TableWriter {
 public:
  // Widens the columns for later rows.
  void measure(const Cells& row);
  // One line ending in a newline; control characters are replaced.
  std::string line(const Cells& row);

 private:
  std::vector<std::size_t> widths_;
};

}  // namespace berth
