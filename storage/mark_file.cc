#include "storage/mark_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/handshake/fields.h"
#include "core/json/json.h"
#include "storage/paths.h"

namespace berth {

namespace {

Status failed(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

Result<StoreMark> parse(const std::string& text) {
  const Result<Json> json = Json::parse(text);
  if (!json) return json.error();
  Fields fields(*json);
  StoreMark mark{fields.id("storeId"), fields.u64("term"), fields.u64("position")};
  if (!fields.ok()) return fields.status();
  return mark;
}

}  // namespace

std::optional<StoreMark> MarkFile::read() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) {
    if (errno != ENOENT) {
      log_.write(Level::warn, "cannot read the mark of the store", {{"file", path_}, {"error", std::strerror(errno)}});
    }
    return std::nullopt;
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<StoreMark> mark = parse(text);
  if (mark) return std::move(*mark);
  log_.write(Level::warn, "cannot read the mark of the store", {{"file", path_}, {"error", mark.error().message()}});
  return std::nullopt;
}

bool MarkFile::write(const StoreMark& mark) {
  Json json = Json::object();
  json.set("storeId", mark.store_id);
  json.set("term", std::to_string(mark.term));
  json.set("position", std::to_string(mark.position));
  const Status done = replace(json.dump() + "\n");
  if (!done.is_success() && !has_failed_) {
    log_.write(Level::warn, "cannot mark how far the store has come; an older copy of it may go unnoticed",
               {{"error", done.message()}});
  }
  has_failed_ = !done.is_success();
  return done.is_success();
}

Status MarkFile::replace(const std::string& text) const {
  const std::string fresh = path_ + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return failed("cannot open " + fresh);
  const bool is_whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  Status written = is_whole ? Status::ok() : failed("cannot write " + fresh);
  ::close(fd);
  if (!is_whole) return written;
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) return failed("cannot rename " + fresh);
  return sync_directory_of(path_);
}

}  // namespace berth
