// Layers that a test makes, entry by entry, whatever a well-meaning tool would refuse to write.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <clocale>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "firmware-host/agent/images/sha256.h"

namespace berth {

// Debian's libarchive of armhf has a time_t of 32 bits, these tests one of 64.
inline constexpr bool kSetsTimes = sizeof(time_t) == sizeof(void*);

struct MadeEntry {
  std::string name;
  mode_t type = AE_IFREG;
  std::string contents{};
  std::string link{};  // target of a symbolic link; of a hard link when the type is 0
  mode_t mode = 0644;
  int uid = 0;
  int gid = 0;
  std::vector<std::pair<std::string, std::string>> attributes{};
  time_t modified = 1'000'000'000;
  int major = 0;
  int minor = 0;
};

inline MadeEntry file(const std::string& name, const std::string& contents = "") {
  return {.name = name, .contents = contents};
}
inline MadeEntry folder(const std::string& name, mode_t mode = 0755) {
  return {.name = name, .type = AE_IFDIR, .mode = mode};
}
inline MadeEntry symbolic_link(const std::string& name, const std::string& target) {
  return {.name = name, .type = AE_IFLNK, .link = target, .mode = 0777};
}
inline MadeEntry hard_link(const std::string& name, const std::string& target) {
  return {.name = name, .type = 0, .link = target};
}

enum class Packing { plain, gzip, zstd };

// The bytes of a tar with these entries, in pax format where that is needed.
inline std::string tar_of(const std::vector<MadeEntry>& entries, Packing packing = Packing::plain) {
  std::setlocale(LC_CTYPE, "C.UTF-8");  // of the names
  archive* writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  if (packing == Packing::gzip) archive_write_add_filter_gzip(writer);
  if (packing == Packing::zstd) archive_write_add_filter_zstd(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  std::string bytes;
  archive_write_open(
      writer, &bytes, nullptr,
      [](archive*, void* into, const void* block, size_t size) {
        static_cast<std::string*>(into)->append(static_cast<const char*>(block), size);
        return static_cast<la_ssize_t>(size);
      },
      nullptr);
  for (const MadeEntry& made : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, made.name.c_str());
    archive_entry_set_perm(entry, made.mode);
    archive_entry_set_uid(entry, made.uid);
    archive_entry_set_gid(entry, made.gid);
    if (kSetsTimes) archive_entry_set_mtime(entry, made.modified, 0);
    archive_entry_set_filetype(entry, made.type == 0 ? AE_IFREG : made.type);
    if (made.type == 0) archive_entry_set_hardlink(entry, made.link.c_str());
    if (made.type == AE_IFLNK) archive_entry_set_symlink(entry, made.link.c_str());
    if (made.type == AE_IFREG) archive_entry_set_size(entry, static_cast<la_int64_t>(made.contents.size()));
    archive_entry_set_rdevmajor(entry, static_cast<dev_t>(made.major));
    archive_entry_set_rdevminor(entry, static_cast<dev_t>(made.minor));
    for (const auto& [name, value] : made.attributes) {
      archive_entry_xattr_add_entry(entry, name.c_str(), value.data(), value.size());
    }
    EXPECT_EQ(archive_write_header(writer, entry), ARCHIVE_OK) << made.name << ": " << archive_error_string(writer);
    if (made.type == AE_IFREG) archive_write_data(writer, made.contents.data(), made.contents.size());
    archive_entry_free(entry);
  }
  EXPECT_EQ(archive_write_close(writer), ARCHIVE_OK);
  archive_write_free(writer);
  return bytes;
}

struct MadeLayer {
  std::string blob;
  std::string digest;
  std::string diff_id;
};

inline MadeLayer layer_of(const std::vector<MadeEntry>& entries, Packing packing = Packing::gzip) {
  MadeLayer layer{.blob = tar_of(entries, packing), .digest = {}, .diff_id = sha256_digest(tar_of(entries))};
  layer.digest = sha256_digest(layer.blob);
  return layer;
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  ASSERT_TRUE(out.flush()) << path;
}

}  // namespace berth
