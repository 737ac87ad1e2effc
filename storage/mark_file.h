// MarkFile: the mark of how far the store of a gateway or an agent has come, in a file beside the database.
#pragma once

#include <optional>
#include <string>

#include "core/log.h"
#include "core/status.h"
#include "core/store_mark.h"

namespace berth {

class MarkFile final : public StoreMarks {
 public:
  // `log` outlives it. The file holds one JSON object; it is replaced as a whole and synced, and only its owner may
  // read it.
  MarkFile(std::string path, Log& log) : path_(std::move(path)), log_(log) {}

  // A file that cannot be read is logged and counts as none.
  std::optional<StoreMark> read() override;
  // A failure is logged, once until it succeeds again.
  bool write(const StoreMark& mark) override;

 private:
  std::string path_;
  Log& log_;
  bool has_failed_ = false;
};

}  // namespace berth
