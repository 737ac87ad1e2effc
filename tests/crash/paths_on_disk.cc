// Implements storage/paths.h on the simulated disk instead of the file system.
#include "storage/paths.h"

#include "tests/crash/sqlite_faults.h"

namespace berth {

using crash::mounted;

Status create_private_file(const std::string& path) {
  return mounted().open(path, true) != nullptr ? Status::ok() : Status::error("cannot create " + path);
}

Status allocate_file(const std::string& path, std::uint64_t bytes) {
  return mounted().allocate(path, bytes) == crash::Answer::ok ? Status::ok() : Status::error("cannot allocate " + path);
}

void remove_file(const std::string& path) { static_cast<void>(mounted().remove(path)); }

Status rewrite_file(const std::string& path) {
  bool known = false;
  if (mounted().exists(path, known) != crash::Answer::ok) return Status::error("cannot open " + path);
  if (!known) return Status::ok();
  const crash::Disk::FileRef file = mounted().open(path, false);
  std::uint64_t size = 0;
  if (file == nullptr || mounted().size(*file, size) != crash::Answer::ok) return Status::error("cannot open " + path);
  std::string bytes(size, '\0');
  std::uint64_t got = 0;
  const bool done = mounted().read(*file, 0, bytes.data(), size, got) == crash::Answer::ok &&
                    mounted().write(*file, 0, bytes) == crash::Answer::ok && mounted().sync(*file) == crash::Answer::ok;
  return done ? Status::ok() : Status::error("cannot rewrite " + path);
}

// The file is removed: whoever opens the store next finds none.
Result<std::string> set_aside(const std::string& path, Millis) {
  for (const char* suffix : {"", "-wal", "-journal"}) remove_file(path + suffix);
  return path + ".aside";
}

std::uint64_t bytes_written_by_process() { return 0; }

std::uint64_t free_disk_bytes(const std::string&) { return mounted().free_bytes(); }

Status sync_directory_of(const std::string& path) {
  return mounted().sync_names() == crash::Answer::ok ? Status::ok() : Status::error("cannot sync directory of " + path);
}

}  // namespace berth
