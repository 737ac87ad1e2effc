#include "storage/journal.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "storage/later_records.h"

namespace berth {

namespace {

// Of uncompressed changes. Bounds the memory of one entry and the time of one fold.
constexpr std::size_t kEntryBytes = 256 * 1024;

DatabaseError damaged_entry(std::int64_t id) {
  return {DatabaseError::Kind::corrupt, "journal entry " + std::to_string(id) + ": wrong checksum or format"};
}

}  // namespace

DatabaseResult<void> Journal::prepare_statements() {
  const std::pair<Database::Query*, const char*> statements[] = {
      {&append_, "INSERT INTO journal (id, position, changes) VALUES (?, ?, ?)"},
      {&oldest_, "SELECT id, changes FROM journal ORDER BY id"},
      {&drop_to_, "DELETE FROM journal WHERE id <= ?"},
  };
  for (const auto& [query, sql] : statements) {
    auto prepared = database_.prepare(sql);
    if (!prepared) return std::unexpected(prepared.error());
    *query = std::move(*prepared);
  }
  return {};
}

DatabaseResult<void> Journal::load() {
  auto rows = database_.prepare("SELECT id, position, changes FROM journal ORDER BY id");
  if (!rows) return std::unexpected(rows.error());
  std::string changes;
  for (;;) {
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    last_entry_ = rows->integer(0);
    position_ = static_cast<std::uint64_t>(rows->integer(1));
    std::vector<Live::Record> records;
    const bool is_sound =
        open_entry(rows->blob(2), changes) && each_change(changes, [&](const ChangeView& change) {
          records.push_back(live_.note(last_entry_, static_cast<std::uint32_t>(records.size()), change));
        });
    if (!is_sound) return std::unexpected(damaged_entry(last_entry_));
    loaded_.push_back({last_entry_, std::string(rows->blob(2)), std::move(records)});
  }
}

// All entries uncompressed would take ten times their size, and more than what the records become. So one at a time is
// uncompressed, for the second time.
Status Journal::visit(const Store::Visit& visit) {
  Status seen = Status::ok();
  LaterRecords rows, others;
  std::string changes;
  for (Sealed& sealed : loaded_) {
    std::uint32_t number = 0;
    CHECK(reopen_entry(std::exchange(sealed.entry, {}), changes));
    each_change(changes, [&](const ChangeView& change) {
      const auto phase = live_.phase_of(sealed.id, number, sealed.records[number]);
      ++number;
      if (!phase || !seen.is_success()) return;
      ByteReader::UuidText uuid{};
      const RecordView record{change.table, ByteReader(change.id).id(uuid), change.value, *phase};
      if (record.table == Table::object) {
        seen = visit(record);
      } else {
        (record.table == Table::row ? rows : others).add(record);
      }
    });
    if (!seen.is_success()) return seen;
  }
  std::exchange(loaded_, {});
  if (seen = rows.visit(visit); !seen.is_success()) return seen;
  others.sort();
  return others.visit(visit);
}

DatabaseResult<void> Journal::commit(const std::vector<Change>& changes) {
  auto done = database_.transact([&] { return append(changes); });
  if (!done) return done;
  position_ += changes.size();
  note_written();
  return {};
}

DatabaseResult<void> Journal::append(const std::vector<Change>& changes) {
  written_.clear();
  if (changes.empty()) return append_entry({}, position_);
  ByteWriter bytes;
  for (std::size_t at = 0; at < changes.size(); ++at) {
    const Change& change = changes[at];
    write_change(bytes, change.op, change.table, change.key, change.value, change.phase);
    if (bytes.bytes().size() < kEntryBytes && at + 1 < changes.size()) continue;
    if (auto appended = append_entry(bytes.take(), position_ + at + 1); !appended) return appended;
  }
  return {};
}

// An entry without changes records the position only.
DatabaseResult<void> Journal::append_entry(std::string changes, std::uint64_t position) {
  const std::int64_t id = last_entry_ + static_cast<std::int64_t>(written_.size()) + 1;
  const std::string sealed = seal_entry(changes);
  auto ran = append_.bind(0, id).bind(1, static_cast<std::int64_t>(position)).bind_blob(2, sealed).run();
  if (ran) written_.push_back({id, std::move(changes)});
  return ran;
}

// What the last transaction wrote is committed.
void Journal::note_written() {
  for (const Entry& entry : written_) {
    last_entry_ = entry.id;
    std::uint32_t number = 0;
    each_change(entry.changes, [&](const ChangeView& change) { live_.note(entry.id, number++, change); });
  }
}

DatabaseResult<std::vector<Journal::Entry>> Journal::read_oldest() {
  std::vector<Entry> entries;
  std::size_t bytes = 0;
  while (bytes < kEntryBytes) {
    const auto row = oldest_.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return entries;
    auto changes = open_entry(oldest_.blob(1));
    if (!changes) return std::unexpected(damaged_entry(oldest_.integer(0)));
    bytes += changes->size();
    entries.push_back({oldest_.integer(0), std::move(*changes)});
  }
  oldest_.rewind();
  return entries;
}

// The oldest entries are deleted first, so that the rewritten changes can use their pages.
DatabaseResult<void> Journal::fold_oldest() {
  written_.clear();
  folding_ = {};
  auto oldest = read_oldest();
  if (!oldest) {
    oldest_.rewind();
    return std::unexpected(oldest.error());
  }
  if (oldest->empty()) return {};
  ByteWriter kept;
  for (const Entry& entry : *oldest) {
    std::uint32_t number = 0;
    each_change(entry.changes, [&](const ChangeView& change) {
      const auto phase = live_.phase_of(entry.id, number++, change);
      if (phase) write_change(kept, Op::begin, change.table, change.key(), change.value, *phase);
    });
  }
  const std::int64_t last = oldest->back().id;
  folding_ = std::move(*oldest);
  if (auto dropped = drop_to_.bind(0, last).run(); !dropped) return dropped;
  if (kept.bytes().empty() && last != last_entry_) return {};
  return append_entry(kept.take(), position_);
}

bool Journal::is_fold_due(const StoreOptions& options, const std::function<bool()>& is_full) const {
  const std::uint64_t dead = live_.dead_changes();
  if (dead <= fold_after_) return false;
  if (is_full() && live_.dead_bytes() >= std::min<std::uint64_t>(kEntryBytes / 8, options.fold_bytes)) return true;
  const auto beyond = [&](std::uint64_t live) { return live * options.fold_percent / 100; };
  return dead >= options.fold_changes + beyond(live_.live_changes()) ||
         live_.dead_bytes() >= options.fold_bytes + beyond(live_.live_bytes());
}

DatabaseResult<void> Journal::fold() {
  if (auto folded = database_.transact([this] { return fold_oldest(); }); !folded) return folded;
  fold_after_ = 0;
  for (const Entry& entry : folding_) {
    each_change(entry.changes, [this](const ChangeView& change) { live_.drop(change); });
  }
  note_written();
  folding_.clear();
  return {};
}

}  // namespace berth
