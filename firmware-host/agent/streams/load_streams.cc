#include "firmware-host/agent/streams/load_streams.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/images/image_load.h"
#include "firmware-host/agent/images/image_reference.h"
#include "firmware-host/agent/images/image_store.h"

namespace berth {

namespace {

constexpr std::uint64_t kLookBytes = 1024 * 1024;  // between two looks at the disk, which others fill too

// How many bytes may be written to the disk of this file until so much of it is used; as df(1), what only root may use
// counts as used.
std::uint64_t room_below(int file, int percent) {
  struct statvfs disk{};
  if (fstatvfs(file, &disk) != 0) return 0;
  const std::uint64_t block = disk.f_frsize;
  const std::uint64_t used = (std::uint64_t{disk.f_blocks} - disk.f_bfree) * block;
  const std::uint64_t available = std::uint64_t{disk.f_bavail} * block;
  const std::uint64_t most = (used + available) / 100 * static_cast<std::uint64_t>(percent);
  return most - std::min(most, used);
}

std::string disk_is_full(int percent) {
  return "the device's disk would be used to " + std::to_string(percent) +
         " % (containers.image_high_percent): make room there, or send a smaller archive";
}

std::string too_large() {
  return "an archive must have at most " + std::to_string(LoadStreams::kArchiveBytes >> 20) + " MiB; split it";
}

}  // namespace

class LoadStreams::Source final : public StreamSource {
 public:
  Source(LoadStreams& streams, std::string path, Descriptor file, LoadQuery query, std::function<void()> ready)
      : streams_(streams),
        path_(std::move(path)),
        file_(std::move(file)),
        query_(std::move(query)),
        ready_(std::move(ready)) {
    streams_.is_open_ = true;
  }
  ~Source() override {
    if (load_ && !is_over_) discard_unused();
    load_.reset();
    remove_file();
    streams_.is_open_ = false;
  }

  Part read(std::size_t bytes_max) override {
    Part part{.bytes = text_.substr(0, bytes_max)};
    text_.erase(0, part.bytes.size());
    part.more = !text_.empty();
    if (!part.more && is_over_) {
      part.end = failure_.empty() ? StreamEnd::done : StreamEnd::failed;
      part.reason = failure_;
    }
    return part;
  }

  void write(std::string_view bytes, bool last) override {
    if (is_last_) return;
    is_last_ = last;
    taken_ += bytes.size();
    if (const Status kept = keep(bytes); !kept.is_success()) return finish(kept.message());
    if (last) begin_load();
  }
  std::uint64_t taken() const override { return taken_; }

 private:
  Status keep(std::string_view bytes) {
    if (taken_ > kArchiveBytes) return Status::error(too_large());
    if (query_.bytes && taken_ > *query_.bytes) {
      return Status::error("more came than the " + std::to_string(*query_.bytes) + " bytes that were announced");
    }
    if (taken_ >= look_at_) {
      if (room_below(file_.get(), streams_.high_percent_) == 0) {
        return Status::error(disk_is_full(streams_.high_percent_));
      }
      look_at_ = taken_ + kLookBytes;
    }
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Status::error("the archive cannot be kept: " + std::string(std::strerror(errno)));
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return Status::ok();
  }

  void begin_load() {
    if (query_.bytes && taken_ != *query_.bytes) {
      return finish("only " + std::to_string(taken_) + " of " + std::to_string(*query_.bytes) + " bytes came");
    }
    // What is in it is written twice, to a temporary directory or as blobs, and as layers.
    const std::uint64_t room = room_below(file_.get(), streams_.high_percent_) / 2;
    auto load = ImageLoad::start(streams_.context_, *streams_.store_,
                                 {.path = path_, .name = query_.name, .most_bytes = static_cast<std::int64_t>(room)},
                                 [this](const Result<std::vector<std::string>>& loaded) { on_loaded(loaded); });
    if (!load) return finish(load.error().message());
    load_ = std::move(*load);
  }

  void on_loaded(const Result<std::vector<std::string>>& loaded) {
    if (!loaded) {
      discard_unused();
      return finish(told(loaded.error().message()));
    }
    for (const std::string& name : *loaded) text_ += "Loaded image: " + name + "\n";
    finish({});
  }

  // The disk is free again before the operator hears of the end.
  void finish(std::string failure) {
    failure_ = std::move(failure);
    is_last_ = is_over_ = true;
    remove_file();
    ready_();
  }

  // The file's name here would tell an operator nothing.
  std::string told(std::string failure) const {
    if (const std::size_t at = failure.find(path_); at != std::string::npos) {
      failure.replace(at, path_.size(), "the archive");
    }
    return failure;
  }

  // What was taken of the archive before it was found to be wrong. If it fails, it is met when the disk fills.
  void discard_unused() {
    streams_.store_->collect_garbage([](const Result<ImageStore::Collected>&) {}, false);
  }

  void remove_file() {
    if (!file_) return;
    file_ = Descriptor();
    unlink(path_.c_str());  // what stays goes with the next start
  }

  LoadStreams& streams_;
  const std::string path_;
  Descriptor file_;
  const LoadQuery query_;
  const std::function<void()> ready_;
  std::unique_ptr<ImageLoad> load_;
  std::string text_;
  std::string failure_;
  std::uint64_t taken_ = 0;
  std::uint64_t look_at_ = 0;
  bool is_last_ = false;
  bool is_over_ = false;
};

Result<OpenedStream> LoadStreams::open(const LoadQuery& query, std::function<void()> ready) {
  if (store_ == nullptr) return Status::error("this device runs no containers, and so has no images; its log says why");
  if (is_open_) return Status::error("another archive of images is being loaded: wait for its end");
  if (!query.name.empty()) {
    if (const auto name = parse_image_reference(query.name); !name)
      return Status::error("name: " + name.error().message());
  }
  if (query.bytes.value_or(0) > kArchiveBytes) return Status::error("bytes: " + too_large());
  const std::string path = store_->upload_path();
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return Status::error("cannot write " + path + ": " + std::strerror(errno));
  if (const std::uint64_t room = room_below(file.get(), high_percent_); room == 0 || query.bytes.value_or(0) > room) {
    unlink(path.c_str());
    return Status::error(disk_is_full(high_percent_));
  }
  return OpenedStream{.source = std::make_unique<Source>(*this, path, std::move(file), query, std::move(ready)),
                      .takes_input = true};
}

}  // namespace berth
