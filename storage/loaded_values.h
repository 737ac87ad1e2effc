// LoadedValues: the values of a store's records between open() and read(). They point into the uncompressed journal
// entries, so no value is copied.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/store.h"
#include "storage/live.h"

namespace berth {

class LoadedValues {
 public:
  // Adds the next entry of the journal and notes its changes in `live`. False if the entry is damaged.
  bool add(std::int64_t entry, std::string changes, Live& live);
  // Visits the live records in key order, until the visitor returns an error.
  Status visit(const Live& live, const Store::Visit& visit) const;
  // Frees everything.
  void clear();

 private:
  std::deque<std::string> entries_;
  std::vector<std::string_view> values_;  // by the number of the record in Live
};

}  // namespace berth
