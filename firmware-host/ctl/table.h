// Tables of objects, as `berthctl get` shows them: one row an object, the columns of its kind.
#pragma once

#include <string>
#include <vector>

#include "core/api/objects.h"
#include "core/json/json.h"

namespace berth {

struct TableForm {
  bool wide = false;            // more columns
  bool with_namespace = false;  // NAMESPACE first, for kinds that have one
};

using Cells = std::vector<std::string>;

Cells table_header(Kind kind, const TableForm& form);
// As many cells as the header has. A cell without a value is "-".
Cells table_row(Kind kind, const Json& object, const TableForm& form);

// What a pod is doing in one word: Terminating, Pending, Scheduled (a node has it, its containers do not run yet),
// Running, Succeeded, Failed, or the reason a container does not run ("CrashLoopBackOff").
std::string pod_word(const Json& pod);

// Columns are as wide as the widest cell so far and three spaces apart, the last one is not padded.
class TableWriter {
 public:
  // Widens the columns for rows to come.
  void measure(const Cells& row);
  // One line with a newline at the end; control characters are replaced.
  std::string line(const Cells& row);

 private:
  std::vector<std::size_t> widths_;
};

}  // namespace berth
