#include "storage/memory_store.h"

#include <utility>

#include "core/check.h"

namespace berth {

Status MemoryStore::read(const Visit& visit) {
  const auto rank = [](Table table) { return table == Table::object ? 0 : table == Table::row ? 1 : 2; };
  for (int now = 0; now <= 2; ++now) {
    for (const auto& [id, content] : durable_) {
      if (rank(id.first) != now) continue;
      if (Status seen = visit({id.first, id.second, content.value, content.phase}); !seen.is_success()) return seen;
    }
  }
  return Status::ok();
}

void MemoryStore::stage(Change change) {
  CHECK(is_storable(change.key.size(), change.phase));
  staged_.push_back(std::move(change));
}

void MemoryStore::put(Table table, const std::string& key, const std::string& value) {
  stage({Op::put, table, key, value, 0});
}

void MemoryStore::erase(Table table, const std::string& key) { stage({Op::erase, table, key, {}, 0}); }

std::uint64_t MemoryStore::next_position() const { return position_ + staged_.size() + 1; }

Status MemoryStore::capacity() { return full_ ? Status::unschedulable("store is full: set_full(true)") : Status::ok(); }

Status MemoryStore::begin(const std::string& key, const std::string& value, int phase) {
  if (Status has = capacity(); !has.is_success()) return has;
  stage({Op::begin, Table::row, key, value, phase});
  return Status::ok();
}

void MemoryStore::advance(const std::string& key, int phase) { stage({Op::advance, Table::row, key, {}, phase}); }

Status MemoryStore::commit() {
  if (health_ == Health::failed) return Status::error("store failed in an earlier commit: restart and load it again");
  if (staged_.empty()) return Status::ok();
  if (health_ == Health::well) {
    ++commits_;
    changes_ += staged_.size();
    apply_staged();
    return Status::ok();
  }
  if (health_ == Health::fails_next_kept) apply_staged();
  staged_.clear();
  health_ = Health::failed;
  return Status::error("commit failed: the staged changes may be kept or lost");
}

void MemoryStore::apply_staged() {
  position_ += staged_.size();
  for (Change& change : std::exchange(staged_, {})) apply(durable_, std::move(change));
}

void MemoryStore::crash() {
  staged_.clear();
  if (health_ == Health::failed) health_ = Health::well;
}

void MemoryStore::fail_next_commit(Outcome outcome) {
  health_ = outcome == Outcome::kept ? Health::fails_next_kept : Health::fails_next_lost;
}

void MemoryStore::wipe() {
  durable_.clear();
  staged_.clear();
  position_ = 0;
}

}  // namespace berth
