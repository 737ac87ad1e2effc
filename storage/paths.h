// What a store asks of the file system besides SQLite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"

namespace berth {

// Creates an empty file only its owner may read (0600); one that exists is left alone, and not even opened: closing a
// descriptor would drop the process's locks on it (POSIX).
Status create_private_file(const std::string& path);
// Makes a file's space real, not only its size.
Status allocate_file(const std::string& path, std::uint64_t bytes);
// Gives its space back; nothing happens when there is no such file.
void remove_file(const std::string& path);
// Writes a file's bytes over themselves and syncs them; nothing when there is none. After a failed sync Linux takes
// pages for written that are not on the disk, and no later sync would bring them there.
Status rewrite_file(const std::string& path);
// Given to write calls since the process started (/proc/self/io); 0 where that is not counted.
std::uint64_t bytes_written_by_process();
// What the disk under `path` could still hold for us; all there is when that cannot be known.
std::uint64_t free_disk_bytes(const std::string& path);
// Makes names created or renamed beside `path` durable.
Status sync_directory_of(const std::string& path);
// Renames a store that cannot be read, with its log, to a name that says when: "<path>.aside-<UTC>". `wall`:
// milliseconds since 1970. Returns the new name of the file. Of earlier ones the newest by name stay, kStoresAside with
// this one: a flash that damages every store must not be filled.
inline constexpr std::size_t kStoresAside = 3;
Result<std::string> set_aside(const std::string& path, Millis wall);
// The stores set aside from `path` that are there still, by name.
std::vector<std::string> stores_aside(const std::string& path);

}  // namespace berth
