#include "storage/mark_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/handshake/fields.h"
#include "core/json/json.h"
#include "storage/paths.h"

namespace berth {

namespace {

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
  const Status done = replace_private_file(path_, json.dump() + "\n");
  if (!done.is_success() && !has_failed_) {
    log_.write(Level::warn, "cannot mark how far the store has come; an older copy of it may go unnoticed",
               {{"error", done.message()}});
  }
  has_failed_ = !done.is_success();
  return done.is_success();
}

}  // namespace berth
