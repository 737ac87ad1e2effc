// Uploads: manifests that are larger than one message, and come in parts. Each client has one under way at most; all
// together are bounded, and end when nothing more comes.
//
// Messages above 64 KiB are no way: the limit bounds what the broker, the gateway and each device hold for any client.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "core/clock.h"
#include "core/json/json.h"

namespace berth {

class Uploads {
 public:
  static constexpr std::size_t kUploadsMax = 4;
  static constexpr Millis kPatienceMs = 60'000;  // without a part

  // Takes the part that a request has as `upload`: {id, part, parts, text}, parts from 0. `client`: whose it is. The
  // answer says that the part was taken, or why not; to the last part it is that of apply(text), and the same again
  // when that part comes once more.
  Json take(const Json& upload, const std::string& client, Millis now, const std::function<Json(std::string)>& apply);
  // Forgets what has waited too long.
  void expire(Millis now);

 private:
  bool drop_finished();

  struct Upload {
    std::string id;
    std::int64_t parts = 0;
    std::int64_t taken = 0;
    std::string text;
    Json answer;  // to the last part; null: it has not come
    Millis last = 0;
  };
  std::map<std::string, Upload> uploads_;  // by client
};

}  // namespace berth
