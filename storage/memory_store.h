// MemoryStore: a store for tests and the simulator that loses uncommitted changes in a power cut.
#pragma once

#include "storage/change.h"

namespace berth {

// Copyable: a copy acts as a backup of the flash.
class MemoryStore final : public Store {
 public:
  // Whether the changes of a failed commit were kept.
  enum class Outcome { kept, lost };

  Status read(const Visit& visit) override;
  void put(Table table, const std::string& key, const std::string& value) override;
  void erase(Table table, const std::string& key) override;
  std::uint64_t next_position() const override;
  Status capacity() override;
  Status begin(const std::string& key, const std::string& value, int phase) override;
  void advance(const std::string& key, int phase) override;
  Status commit() override;

  // Power cut and restart: staged changes are lost, and commits work again after a failed one.
  void crash();
  // The next commit with staged changes fails, and so does every later one until crash().
  void fail_next_commit(Outcome outcome);
  // The flash is lost: nothing is left and positions start from 0 again. set_full() and fail_next_commit() stay in
  // effect.
  void wipe();
  // While set, begin() and capacity() return "store is full"; nothing else is refused.
  void set_full(bool full) { full_ = full; }

  // Successful commits that had staged changes, and the changes in them; both since construction.
  std::uint64_t commits() const { return commits_; }
  std::uint64_t changes() const { return changes_; }
  // What a restart would load now.
  const Contents& durable() const { return durable_; }

 private:
  void stage(Change change);
  void apply_staged();

  enum class Health { well, fails_next_kept, fails_next_lost, failed };

  Contents durable_;
  std::vector<Change> staged_;
  std::uint64_t position_ = 0;  // of the last durable change
  std::uint64_t commits_ = 0;
  std::uint64_t changes_ = 0;
  Health health_ = Health::well;
  bool full_ = false;
};

}  // namespace berth
