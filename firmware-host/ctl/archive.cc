#include "firmware-host/ctl/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

namespace berth {

namespace {

constexpr std::size_t kBlockBytes = 512;
constexpr std::size_t kPieceBytes = 64 * 1024;
// Offsets in the header of a file, and lengths.
constexpr std::size_t kModeAt = 100, kSizeAt = 124, kTimeAt = 136, kSumAt = 148, kTypeAt = 156, kMagicAt = 257;
constexpr std::size_t kNameBytes = 100, kSizeBytes = 12, kSumBytes = 8;
constexpr std::uint64_t kHashStart = 0xcbf29ce484222325;

using Block = std::array<char, kBlockBytes>;

std::uint64_t hash_on(std::uint64_t hash, std::string_view bytes) {
  for (const char each : bytes) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return hash;
}

void put_octal(Block& block, std::size_t at, std::size_t bytes, std::uint64_t value) {
  std::snprintf(block.data() + at, bytes, "%0*llo", static_cast<int>(bytes - 1),
                static_cast<unsigned long long>(value));
}

std::uint64_t octal(const Block& block, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + bytes && block[i] >= '0' && block[i] <= '7'; ++i) {
    value = value * 8 + static_cast<std::uint64_t>(block[i] - '0');
  }
  return value;
}

// Of a header, with its own place taken for spaces.
std::uint64_t sum_of(const Block& block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    sum += i >= kSumAt && i < kSumAt + kSumBytes ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

Status system_failure(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

}  // namespace

Result<ArchiveWriter> ArchiveWriter::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_failure("cannot create " + path);
  ArchiveWriter writer(fd);
  if (::fchmod(fd, 0600) != 0) return system_failure("cannot protect " + path);
  return writer;
}

ArchiveWriter::ArchiveWriter(ArchiveWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), position_(other.position_) {}

ArchiveWriter::~ArchiveWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Status ArchiveWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure("cannot write the backup");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    position_ += static_cast<std::uint64_t>(written);
  }
  return Status::ok();
}

Status ArchiveWriter::pad() { return write(std::string(padded(position_) - position_, '\0')); }

Status ArchiveWriter::begin(const ArchivedFile& file) {
  if (file.name.size() >= kNameBytes) return Status::error("the name of " + file.name + " is longer than 99 bytes");
  Block header{};
  std::copy(file.name.begin(), file.name.end(), header.begin());
  put_octal(header, kModeAt, 8, 0600);
  put_octal(header, kModeAt + 8, 8, 0);
  put_octal(header, kModeAt + 16, 8, 0);
  put_octal(header, kSizeAt, kSizeBytes, file.bytes);
  put_octal(header, kTimeAt, 12, 0);
  header[kTypeAt] = '0';
  std::memcpy(header.data() + kMagicAt, "ustar\00000", 8);
  put_octal(header, kSumAt, kSumBytes - 1, sum_of(header));
  return write({header.data(), header.size()});
}

Result<ArchivedFile> ArchiveWriter::add_text(const std::string& name, std::string_view text) {
  ArchivedFile file{name, text.size(), hash_on(kHashStart, text)};
  for (const auto step : {0, 1, 2}) {
    const Status done = step == 0 ? begin(file) : step == 1 ? write(text) : pad();
    if (!done.is_success()) return done;
  }
  return file;
}

Result<std::optional<ArchivedFile>> ArchiveWriter::add_file(const std::string& name, const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::optional<ArchivedFile>();
  if (fd < 0) return system_failure("cannot read " + path);
  struct stat found{};
  Status done = ::fstat(fd, &found) == 0 ? Status::ok() : system_failure("cannot read " + path);
  ArchivedFile file{name, static_cast<std::uint64_t>(found.st_size), kHashStart};
  if (done.is_success()) done = begin(file);
  std::string piece(kPieceBytes, '\0');
  for (std::uint64_t left = file.bytes; left > 0 && done.is_success();) {
    const ssize_t got = ::read(fd, piece.data(), std::min<std::uint64_t>(piece.size(), left));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) done = system_failure("cannot read " + path);
    if (got == 0) done = Status::error("cannot read " + path + ": it became shorter meanwhile");
    if (!done.is_success()) break;
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    file.hash = hash_on(file.hash, bytes);
    left -= bytes.size();
    done = write(bytes);
  }
  ::close(fd);
  if (done.is_success()) done = pad();
  if (!done.is_success()) return done;
  return std::optional(std::move(file));
}

Status ArchiveWriter::rewind(std::uint64_t position) {
  const auto at = static_cast<off_t>(position);
  if (::ftruncate(fd_, at) != 0 || ::lseek(fd_, at, SEEK_SET) != at) return system_failure("cannot write the backup");
  position_ = position;
  return Status::ok();
}

Status ArchiveWriter::finish() {
  if (Status ended = write(std::string(2 * kBlockBytes, '\0')); !ended.is_success()) return ended;
  return ::fsync(fd_) == 0 ? Status::ok() : system_failure("cannot sync the backup");
}

Status read_archive(const std::string& path, const ArchiveVisitor& visitor) {
  std::ifstream input(path, std::ios::binary);
  if (!input) return system_failure("cannot read " + path);
  Status damaged = Status::error(path + " is not a backup, or is damaged or cut off");
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    Block header{};
    if (!input.read(header.data(), header.size())) return damaged;
    if (std::all_of(header.begin(), header.end(), [](char each) { return each == '\0'; })) return Status::ok();
    if (std::memcmp(header.data() + kMagicAt, "ustar", 6) != 0 || octal(header, kSumAt, kSumBytes) != sum_of(header)) {
      return damaged;
    }
    ArchivedFile file{std::string(header.data(), ::strnlen(header.data(), kNameBytes)),
                      octal(header, kSizeAt, kSizeBytes), kHashStart};
    if (Status begun = visitor.begin(file); !begun.is_success()) return begun;
    for (std::uint64_t left = file.bytes; left > 0;) {
      const std::uint64_t size = std::min<std::uint64_t>(piece.size(), left);
      if (!input.read(piece.data(), static_cast<std::streamsize>(size))) return damaged;
      const std::string_view bytes(piece.data(), size);
      file.hash = hash_on(file.hash, bytes);
      left -= size;
      if (Status taken = visitor.piece(bytes); !taken.is_success()) return taken;
    }
    const std::uint64_t padding = padded(file.bytes) - file.bytes;
    if (!input.read(piece.data(), static_cast<std::streamsize>(padding)) ||
        std::string_view(piece).substr(0, padding).find_first_not_of('\0') != std::string_view::npos) {
      return damaged;
    }
    if (Status ended = visitor.end(file); !ended.is_success()) return ended;
  }
}

}  // namespace berth
