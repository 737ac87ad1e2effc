#include "storage/change.h"

namespace berth {

void apply(Contents& contents, Change change) {
  std::pair<Table, std::string> id{change.table, std::move(change.key)};
  switch (change.op) {
    case Op::put: contents[std::move(id)].value = std::move(change.value); return;
    case Op::begin: contents[std::move(id)] = Content{std::move(change.value), change.phase}; return;
    case Op::erase: contents.erase(id); return;
    case Op::advance:
      if (auto found = contents.find(id); found != contents.end()) found->second.phase = change.phase;
      return;
  }
}

std::vector<Record> to_records(Contents contents) {
  std::vector<Record> records;
  records.reserve(contents.size());
  for (auto& [id, content] : contents) {
    records.push_back({id.first, id.second, std::move(content.value), content.phase});
  }
  return records;
}

}  // namespace berth
