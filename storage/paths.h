// The file system operations of a store outside SQLite.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"

namespace berth {

// Creates an empty file that only its owner may read (0600). An existing file is not even opened: closing a descriptor
// would release the process's POSIX locks on it.
Status create_private_file(const std::string& path);
// The end of a file that is not yet in its place; no object of Kubernetes is named so.
inline constexpr const char* kUnfinished = "~new";
// Replaces the file's contents as a whole, durably: a crash leaves the old ones or the new, and perhaps an unfinished
// file beside it. Only its owner may read it.
Status replace_private_file(const std::string& path, std::string_view text);
// Creates a file and allocates its disk blocks, not only its size.
Status allocate_file(const std::string& path, std::uint64_t bytes);
// Removes the file if it exists.
void remove_file(const std::string& path);
// Writes a file's bytes over themselves and syncs them; does nothing if there is no such file. After a failed sync
// Linux marks pages clean that are not on the disk, and no later sync would write them.
Status rewrite_file(const std::string& path);
// Bytes passed to write calls since the process started (/proc/self/io); 0 where the kernel does not count them.
std::uint64_t bytes_written_by_process();
// Free space for this user on the disk of `path`; the maximum if it cannot be determined.
std::uint64_t free_disk_bytes(const std::string& path);
// Makes files created or renamed in the directory of `path` durable.
Status sync_directory_of(const std::string& path);
// Renames an unreadable store and its log to "<path>.aside-<UTC>". `wall`: milliseconds since 1970. Returns the new
// name of the file. Keeps the kStoresAside newest by name, this one included: a flash that damages store after store
// must not fill up.
inline constexpr std::size_t kStoresAside = 3;
Result<std::string> set_aside(const std::string& path, Millis wall);
// The stores set aside from `path` that still exist, sorted by name.
std::vector<std::string> stores_aside(const std::string& path);

}  // namespace berth
