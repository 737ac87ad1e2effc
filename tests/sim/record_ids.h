// RecordIds: a set of records on flash.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "core/store.h"

namespace berth::sim {

using RecordIds = std::set<std::pair<Table, std::string>>;

}  // namespace berth::sim
