#include "core/gateway/uploads.h"

#include <utility>

#include "core/api/config_objects.h"
#include "core/gateway/api_reply.h"

namespace berth {

namespace {

constexpr std::int64_t kPartsMax = 64;

std::int64_t integer_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_integer() ? value->as_int() : -1;
}

}  // namespace

void Uploads::expire(Millis now) {
  std::erase_if(uploads_, [now](const auto& each) { return now - each.second.last > kPatienceMs; });
}

// The oldest of those that are kept for their answer alone, which may be asked for again. False: there is none.
bool Uploads::drop_finished() {
  auto oldest = uploads_.end();
  for (auto each = uploads_.begin(); each != uploads_.end(); ++each) {
    if (each->second.answer.is_null()) continue;
    if (oldest == uploads_.end() || each->second.last < oldest->second.last) oldest = each;
  }
  if (oldest == uploads_.end()) return false;
  uploads_.erase(oldest);
  return true;
}

Json Uploads::take(const Json& upload, const std::string& client, Millis now,
                   const std::function<Json(std::string)>& apply) {
  expire(now);
  const std::string id = api_text(upload, "id");
  const std::int64_t part = integer_at(upload, "part");
  const std::int64_t parts = integer_at(upload, "parts");
  const Json* text = upload.find("text");
  if (id.empty() || text == nullptr || !text->is_string() || parts < 1 || parts > kPartsMax || part < 0 ||
      part >= parts) {
    return api_failure("upload: expected id, text, parts (1 to 64) and part (from 0)");
  }
  const auto known = uploads_.find(client);
  if (known == uploads_.end() && uploads_.size() >= kUploadsMax && !drop_finished()) {
    return api_failure("other clients are uploading large objects; try again in a minute");
  }
  Upload& mine = uploads_[client];
  if (mine.id != id) mine = Upload{id, parts, 0, {}, {}, now};
  mine.last = now;
  const bool repeats = part + 1 == mine.taken;
  if (!repeats && (part != mine.taken || parts != mine.parts)) {
    uploads_.erase(client);
    return api_failure("upload: part " + std::to_string(part) + " of " + std::to_string(parts) +
                       " is not the next one; begin again");
  }
  if (repeats && !mine.answer.is_null()) return mine.answer;
  if (!repeats) {
    if (mine.text.size() + text->as_string().size() > kConfigTextMax) {
      uploads_.erase(client);
      return api_failure("the manifest has more than " + std::to_string(kConfigTextMax) +
                         " bytes; move large data to a volume");
    }
    mine.text += text->as_string();
    ++mine.taken;
  }
  if (mine.taken == mine.parts) return mine.answer = apply(std::exchange(mine.text, {}));
  return api_success().set("result", "received").set("part", part);
}

}  // namespace berth
