#include "storage/space.h"

#include <algorithm>

#include "storage/paths.h"

namespace berth {

Space::Space(const std::string& path, const StoreOptions& options, Database& database, Log& log)
    : path_(path), options_(options), database_(database), log_(log) {}

DatabaseResult<void> Space::configure() {
  const auto page_bytes = database_.integer("PRAGMA page_size");
  if (!page_bytes) return std::unexpected(page_bytes.error());
  page_bytes_ = static_cast<std::uint64_t>(*page_bytes);
  return limit_pages(pages_max());
}

DatabaseResult<void> Space::prepare_statements() {
  auto pages = database_.prepare("PRAGMA page_count");
  if (!pages) return std::unexpected(pages.error());
  page_count_ = std::move(*pages);
  auto free = database_.prepare("PRAGMA freelist_count");
  if (!free) return std::unexpected(free.error());
  free_count_ = std::move(*free);
  return {};
}

DatabaseResult<void> Space::measure() {
  std::int64_t counts[2] = {};
  Database::Query* const queries[2] = {&page_count_, &free_count_};
  for (int i = 0; i < 2; ++i) {
    const auto row = queries[i]->step();
    if (!row) return std::unexpected(row.error());
    if (*row) counts[i] = queries[i]->integer(0);
    queries[i]->rewind();
  }
  disk_was_roomy_ = false;
  file_pages_ = static_cast<std::uint64_t>(counts[0]);
  used_pages_ = static_cast<std::uint64_t>(counts[0] - counts[1]);
  return {};
}

bool Space::has(std::uint64_t bytes) const {
  // Times two: pages of the journal are rarely full, and a fold needs space as well.
  const std::uint64_t pages = bytes * 2 / page_bytes_ + 1;
  return has_disk() && used_pages_ + pages + reserve_pages() <= pages_max();
}

// Required in addition to the reserve file: other programs write to the disk too, and could take the space that the
// reserve frees. Nobody else can take free pages inside the database file.
bool Space::has_disk() const {
  const std::uint64_t own = std::min((file_pages_ - used_pages_) * page_bytes_, options_.reserve_bytes);
  const std::uint64_t needed = options_.reserve_bytes - own;
  if (!reserve_held_) return false;
  if (disk_was_roomy_) return true;
  const std::uint64_t free = free_disk_bytes(path_);
  disk_was_roomy_ = free >= needed + kRoomyBytes;
  return free >= needed;
}

Status Space::check(std::uint64_t bytes) {
  hold_reserve();
  if (has(bytes)) return Status::ok();
  if (!has_disk()) return Status::unschedulable("store is full: no space left on the disk of " + path_);
  return Status::unschedulable("store is full: " + path_ + " holds " +
                               std::to_string(used_pages_ * page_bytes_ / 1024) + " KiB of at most " +
                               std::to_string(options_.bytes_max / 1024) + " KiB");
}

void Space::hold_reserve() {
  if (reserve_held_ || used_pages_ + reserve_pages() > pages_max()) return;
  if (!allocate_file(reserve_path(), options_.reserve_bytes).is_success()) return;
  reserve_held_ = true;
  reserve_used_ = false;
  if (const auto limited = limit_pages(pages_max()); !limited) {
    log_.write(Level::warn, "cannot set the size limit of the store",
               {{"store", path_}, {"reason", limited.error().message}});
  }
}

// Either the disk or the file's own limit may be exhausted: give space back in both.
void Space::release_reserve() {
  if (reserve_used_) return;
  reserve_used_ = true;
  disk_was_roomy_ = false;
  log_.write(Level::error, "store is full, using its reserve", {{"store", path_}});
  reserve_held_ = false;
  remove_file(reserve_path());
  if (const auto limited = limit_pages(file_pages_ + reserve_pages()); !limited) {
    log_.write(Level::warn, "cannot set the size limit of the store",
               {{"store", path_}, {"reason", limited.error().message}});
  }
  // After a checkpoint the log is overwritten from its start and needs no more space.
  if (const auto moved = move_log(1); !moved) {
    log_.write(Level::warn, "checkpoint of the store failed", {{"store", path_}, {"reason", moved.error().message}});
  }
}

DatabaseResult<void> Space::move_log(std::uint64_t bytes) {
  const int frames = static_cast<int>(bytes / page_bytes_ + (bytes % page_bytes_ == 0 ? 0 : 1));
  if (!database_.is_checkpoint_due(frames)) return {};
  const std::uint64_t before = bytes_written_by_process();
  const auto moved = database_.checkpoint(frames);
  bytes_moved_ += bytes_written_by_process() - before;
  return moved;
}

DatabaseResult<void> Space::limit_pages(std::uint64_t pages) {
  return database_.execute("PRAGMA max_page_count = " + std::to_string(pages));
}

}  // namespace berth
