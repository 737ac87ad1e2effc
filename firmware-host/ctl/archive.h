// A tar archive of regular files (POSIX ustar, as tar(1) lists and extracts it), written and read in one pass. Made
// here in 100 lines rather than by a library: libarchive would bring a dozen of others for a header of 512 bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

struct ArchivedFile {
  std::string name;  // relative, at most 99 bytes
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // FNV-1a of the contents: finds damage, not a forger
};

class ArchiveWriter {
 public:
  // Creates the file with mode 0600, or replaces it.
  static Result<ArchiveWriter> create(const std::string& path);
  ArchiveWriter(ArchiveWriter&& other) noexcept;
  ArchiveWriter& operator=(ArchiveWriter&&) = delete;
  ~ArchiveWriter();

  // Adds what the file has at this moment. None: there is no such file, and nothing was added.
  Result<std::optional<ArchivedFile>> add_file(const std::string& name, const std::string& path);
  Result<ArchivedFile> add_text(const std::string& name, std::string_view text);
  // What was added since position() was asked for is taken back.
  std::uint64_t position() const { return position_; }
  Status rewind(std::uint64_t position);
  // Ends the archive and makes it durable.
  Status finish();

 private:
  explicit ArchiveWriter(int fd) : fd_(fd) {}
  Status begin(const ArchivedFile& file);
  Status write(std::string_view bytes);
  Status pad();

  int fd_;
  std::uint64_t position_ = 0;
};

// Calls begin(file) for each file of the archive (its hash is not known yet), then piece(bytes) for its contents, then
// end(file). An error of theirs ends the reading; so does an archive that is cut off or has no valid header.
struct ArchiveVisitor {
  std::function<Status(const ArchivedFile&)> begin = [](const ArchivedFile&) { return Status::ok(); };
  std::function<Status(std::string_view)> piece = [](std::string_view) { return Status::ok(); };
  std::function<Status(const ArchivedFile&)> end = [](const ArchivedFile&) { return Status::ok(); };
};
Status read_archive(const std::string& path, const ArchiveVisitor& visitor);

}  // namespace berth
