#include "firmware-host/agent/images/layer_unpacker.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/json/json.h"
#include "firmware-host/agent/images/disk_space.h"
#include "firmware-host/agent/images/layer_stream.h"

namespace berth {

namespace {

// Exit codes of the child.
constexpr int kUnpacked = 0;
constexpr int kFailed = 1;
constexpr int kDamaged = 2;
constexpr int kNoSpace = 3;

// As the text of a child may be cut at its beginning.
constexpr std::size_t kLongestError = ChildTask::kKept / 2;

Status error_of(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

// From here on nothing else of the device has a name.
Status enter(const std::string& directory, const UnpackLimits& limits) {
  // A file with holes may be longer than all of the tar.
  const rlimit longest{static_cast<rlim_t>(limits.bytes), static_cast<rlim_t>(limits.bytes)};
  std::signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &longest) != 0) return error_of("limit of a file's length");
  umask(0);
  if (chroot(directory.c_str()) != 0) {
    return error_of("chroot " + directory + (errno == EPERM ? ", which only root may" : ""));
  }
  return chdir("/") == 0 ? Status::ok() : error_of("chdir");
}

Status make_empty(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (error) return Status::error("cannot delete " + directory + ": " + error.message());
  return mkdir(directory.c_str(), 0755) == 0 ? Status::ok() : error_of("cannot make " + directory);
}

struct Unpacking {
  Status status;
  int code = kFailed;
  UnpackedLayer written{};
};

Unpacking unpack(const LayerToUnpack& layer, const std::string& partial) {
  // libarchive converts names to the character set of the locale, and those of pax headers are UTF-8. Before the
  // chroot, although the C library needs no file for this one.
  if (!std::setlocale(LC_CTYPE, "C.UTF-8")) return {Status::error("the C library has no locale C.UTF-8")};
  const int blob = open(layer.blob.c_str(), O_RDONLY | O_CLOEXEC);
  if (blob < 0) return {error_of("cannot open " + layer.blob)};
  std::vector<int> lower;
  for (const std::string& directory : layer.lower) {
    const int fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return {error_of("cannot open the layer " + directory)};
    lower.push_back(fd);
  }
  if (Status status = make_empty(partial); !status.is_success()) return {status};
  if (Status status = enter(partial, layer.limits); !status.is_success()) return {status};
  bool has_space = true;
  const auto look = [&] {
    Status space = check_space("/", 0, layer.limits.kept_free);
    has_space = space.is_success();
    return space;
  };
  LayerStream stream(blob,
                     {.digest = layer.digest, .diff_id = layer.diff_id, .bytes = layer.limits.bytes, .look = look});
  LayerWriter writer(layer.limits.entries, std::move(lower));
  Unpacking result;
  result.status = stream.open();
  if (result.status.is_success()) result.status = writer.write_all(stream.tar());
  result.status = result.status.is_success() ? stream.finish() : stream.explain(result.status);
  result.written = writer.written();
  result.written.bytes = stream.bytes();
  if (!result.status.is_success()) {
    result.code = stream.is_damaged() ? kDamaged : has_space ? kFailed : kNoSpace;
    return result;
  }
  const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0 || syncfs(root) != 0) return {error_of("cannot write to disk")};
  result.code = kUnpacked;
  return result;
}

std::string text_of(const UnpackedLayer& layer) {
  return Json::object()
      .set("bytes", Json(layer.bytes))
      .set("entries", Json(layer.entries))
      .set("skipped", Json(layer.skipped))
      .dump();
}

}  // namespace

LayerUnpack::LayerUnpack(asio::io_context& context, LayerToUnpack layer, OnEnd on_end)
    : context_(context), layer_(std::move(layer)), on_end_(std::move(on_end)) {}

Result<std::unique_ptr<LayerUnpack>> LayerUnpack::start(asio::io_context& context, LayerToUnpack layer, OnEnd on_end) {
  std::unique_ptr<LayerUnpack> made(new LayerUnpack(context, std::move(layer), std::move(on_end)));
  const auto work = [layer = made->layer_, partial = made->partial()](int text_fd) {
    const Unpacking done = unpack(layer, partial);
    // The note is last and on a line of its own: a name in it may be anything.
    write_text(text_fd, done.status.is_success()
                            ? text_of(done.written) + "\n" + done.written.note.substr(0, kLongestError)
                            : done.status.message().substr(0, kLongestError));
    return done.code;
  };
  auto task = ChildTask::start(context, work, [self = made.get()](const ChildEnd& end) { self->on_unpacked(end); });
  if (!task) return task.error();
  made->task_ = std::move(*task);
  return made;
}

void LayerUnpack::on_unpacked(const ChildEnd& end) {
  task_.reset();
  const std::size_t line = end.text.find('\n');
  const Result<Json> numbers = end.code == kUnpacked ? Json::parse(end.text.substr(0, line)) : Json();
  if (end.code == kUnpacked && numbers) {
    const auto number = [&](const char* name) { return numbers->find(name) ? numbers->find(name)->as_int() : 0; };
    result_.unpacked = {number("bytes"), number("entries"), number("skipped"), end.text.substr(line + 1)};
    if (rename(partial().c_str(), layer_.directory.c_str()) == 0) return finish();
    result_.status = error_of("cannot rename " + partial());
  } else {
    result_.is_damaged = end.code == kDamaged;
    result_.is_without_space = end.code == kNoSpace;
    result_.status = Status::error(end.code < 0       ? "the unpacking process was killed"
                                   : end.text.empty() ? "the unpacking process ended without a reason"
                                                      : end.text);
  }
  remove_partial();
}

void LayerUnpack::remove_partial() {
  auto task = ChildTask::start(context_, deleting({partial()}), [this](const ChildEnd& end) {
    if (end.code != 0) result_.status.add_reason(end.text);
    finish();
  });
  if (task) {
    task_ = std::move(*task);
    return;
  }
  result_.status.add_reason("cannot delete " + partial() + ": " + task.error().message());
  finish();
}

void LayerUnpack::finish() {
  const OnEnd on_end = std::move(on_end_);
  on_end(std::move(result_));
}

}  // namespace berth
