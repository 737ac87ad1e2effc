#include "firmware-host/agent/eviction_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/json/json.h"

namespace berth {

namespace {

// What is there under the name of the state becomes the record as well. Durable.
std::error_code link_to_state(const std::string& directory) {
  const auto last_error = [] { return std::error_code(errno, std::generic_category()); };
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return last_error();
  std::error_code error;
  if (linkat(fd, PodState::kFile, fd, Eviction::kFile, 0) != 0 || fsync(fd) != 0) error = last_error();
  close(fd);
  return error;
}

}  // namespace

bool is_full_disk(const std::error_code& error) {
  return error == std::errc::no_space_on_device || error == std::error_code(EDQUOT, std::generic_category());
}

Status record_eviction(const std::string& directory, const Eviction& eviction) {
  const Json json = Json::object().set("message", eviction.message).set("graceMs", eviction.grace_ms);
  const std::error_code error = replace_file(directory, Eviction::kFile, json.dump(), true);
  if (!error || (is_full_disk(error) && !link_to_state(directory))) return Status::ok();
  return Status::error("cannot write " + directory + "/" + Eviction::kFile + ": " + error.message());
}

Result<std::optional<Eviction>> read_eviction(const std::string& directory) {
  const std::string path = directory + "/" + Eviction::kFile;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::optional<Eviction>();
    return Status::error("cannot read " + path + ": " + std::strerror(errno));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // Damaged or not, it was decided.
  Eviction eviction;
  const Result<Json> json = Json::parse(text);
  if (!json || !json->is_object()) return std::optional(eviction);
  if (std::string message = json->string_at("message"); !message.empty()) eviction.message = std::move(message);
  const Json* grace = json->find("graceMs");
  if (grace != nullptr && grace->is_integer() && grace->as_int() >= 0) eviction.grace_ms = grace->as_int();
  return std::optional(std::move(eviction));
}

void end_as_evicted(const Eviction& eviction, PodState& state, const std::string& now) {
  state.finished = true;
  state.phase = "Failed";
  state.reason = Eviction::kReason;
  state.message = eviction.message;
  state.conditions.push_back({"DisruptionTarget", true, "TerminationByKubelet", eviction.message, now});
}

}  // namespace berth
