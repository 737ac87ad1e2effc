#include "firmware-host/agent/images/layer_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "firmware-host/agent/images/sha256.h"

namespace berth {

namespace {

struct CloseArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using ArchiveReader = std::unique_ptr<archive, CloseArchive>;

std::string text_of_error(archive* reader) {
  const char* text = archive_error_string(reader);
  return text ? text : "cannot be read";
}

}  // namespace

// Two readers: libarchive shows the tar of a compressed blob only to its own tar reader, and we have to see it too. The
// outer one takes the blob for a single compressed file, whose contents the inner one gets.
struct LayerStream::Impl {
  Impl(int blob_fd, Expected wanted) : fd(blob_fd), expected(std::move(wanted)) {}
  ~Impl() { close(fd); }

  // Below 0 with `fault`.
  la_ssize_t read_blob() {
    ssize_t n = 0;
    do {
      n = read(fd, buffer.data(), buffer.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) fault = std::string("the blob cannot be read: ") + std::strerror(errno);
    if (n > 0) blob_sha.update(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    return n;
  }

  la_ssize_t read_tar(const void** block) {
    std::size_t size = 0;
    la_int64_t offset = 0;
    while (!is_at_end) {
      const int result = archive_read_data_block(outer.get(), block, &size, &offset);
      is_at_end = result == ARCHIVE_EOF;
      if (result != ARCHIVE_OK && !is_at_end) {
        if (fault.empty()) fault = text_of_error(outer.get());
        return -1;
      }
      if (size == 0) continue;
      tar_bytes += static_cast<std::int64_t>(size);
      if (tar_bytes > expected.bytes) {
        fault = "it unpacks to more than " + std::to_string(expected.bytes) + " bytes";
        return -1;
      }
      if (!look_again()) return -1;
      tar_sha.update(std::string_view(static_cast<const char*>(*block), size));
      return static_cast<la_ssize_t>(size);
    }
    return 0;
  }

  bool look_again() {
    if (tar_bytes < look_at) return true;
    look_at = tar_bytes + kLookBytes;
    const Status looked = expected.look();
    if (!looked.is_success()) fault = looked.message();
    return looked.is_success();
  }

  // Nothing but the digest of the blob is of interest any more.
  Status check_blob() {
    for (la_ssize_t n = 1; n != 0;) {
      n = read_blob();
      if (n < 0) return Status::error(fault);
    }
    const std::string digest = blob_sha.digest();
    is_damaged = digest != expected.digest;
    if (!is_damaged) return Status::ok();
    return Status::error("the blob has the digest " + digest + ", expected " + expected.digest);
  }

  int fd;
  Expected expected;
  ArchiveReader outer;
  ArchiveReader inner;
  std::array<char, 65536> buffer;
  Sha256 blob_sha;
  Sha256 tar_sha;
  std::int64_t tar_bytes = 0;
  std::int64_t look_at = 0;
  bool is_at_end = false;  // of the tar
  bool is_damaged = false;
  std::string fault;
};

LayerStream::LayerStream(int fd, Expected expected) : impl_(std::make_unique<Impl>(fd, std::move(expected))) {}
LayerStream::~LayerStream() = default;

archive* LayerStream::tar() const { return impl_->inner.get(); }
std::int64_t LayerStream::bytes() const { return impl_->tar_bytes; }
bool LayerStream::is_damaged() const { return impl_->is_damaged; }

Status LayerStream::open() {
  Impl& it = *impl_;
  it.outer.reset(archive_read_new());
  it.inner.reset(archive_read_new());
  archive* outer = it.outer.get();
  archive* inner = it.inner.get();
  if (!outer || !inner) return Status::error("no memory for a reader");
  archive_read_support_filter_gzip(outer);
  archive_read_support_filter_zstd(outer);
  archive_read_support_format_raw(outer);
  archive_read_support_format_empty(outer);
  archive_read_support_format_tar(inner);
  archive_read_support_format_empty(inner);
  const auto blob = [](archive*, void* self, const void** block) {
    *block = static_cast<Impl*>(self)->buffer.data();
    return static_cast<Impl*>(self)->read_blob();
  };
  if (archive_read_open(outer, &it, nullptr, blob, nullptr) != ARCHIVE_OK) return Status::error(text_of_error(outer));
  archive_entry* only = nullptr;
  const int result = archive_read_next_header(outer, &only);
  it.is_at_end = result == ARCHIVE_EOF;
  if (result != ARCHIVE_OK && !it.is_at_end) return Status::error(text_of_error(outer));
  const auto tar = [](archive* reader, void* self, const void** block) {
    const la_ssize_t n = static_cast<Impl*>(self)->read_tar(block);
    if (n < 0) archive_set_error(reader, EIO, "%s", static_cast<Impl*>(self)->fault.c_str());
    return n;
  };
  if (archive_read_open(inner, &it, nullptr, tar, nullptr) != ARCHIVE_OK) return Status::error(text_of_error(inner));
  return Status::ok();
}

Status LayerStream::finish() {
  Impl& it = *impl_;
  const void* block = nullptr;
  for (la_ssize_t n = 1; n != 0;) {  // what follows the last entry
    n = it.read_tar(&block);
    if (n < 0) return explain(Status::error(it.fault));
  }
  if (Status status = it.check_blob(); !status.is_success()) return status;
  const std::string diff_id = it.tar_sha.digest();
  if (diff_id == it.expected.diff_id) return Status::ok();
  return Status::error("the unpacked layer has the digest " + diff_id + ", expected the diff id " +
                       it.expected.diff_id);
}

Status LayerStream::explain(const Status& fault) {
  Status blob = impl_->check_blob();
  return blob.is_success() ? fault : blob;
}

}  // namespace berth
