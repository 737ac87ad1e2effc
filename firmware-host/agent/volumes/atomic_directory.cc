#include "firmware-host/agent/volumes/atomic_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "firmware-host/agent/descriptor.h"

namespace berth {

namespace fs = std::filesystem;

namespace {

constexpr const char* kData = "..data";
constexpr const char* kNewData = "..data_tmp";
constexpr std::size_t kMostPathBytes = 4096;
constexpr std::size_t kMostNameBytes = 255;

Status not_written(const std::string& path) {
  return Status::error("cannot write " + path + ": " + std::strerror(errno));
}

// "tls/key.pem": "tls"
std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

// Empty: there is none.
std::string link_target(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return length < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

mode_t file_mode(const PayloadFile& file, bool has_group) { return file.mode | (has_group ? 0440 : 0); }

bool is_written(const std::string& path, const PayloadFile& file, std::optional<gid_t> group) {
  const Descriptor opened(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat found{};
  if (!opened || fstat(opened.get(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  if ((found.st_mode & 07777) != file_mode(file, group.has_value())) return false;
  if (group && found.st_gid != *group) return false;
  if (found.st_size != static_cast<off_t>(file.bytes.size())) return false;
  std::string_view rest = file.bytes;
  std::array<char, 16384> part;
  while (!rest.empty()) {
    const ssize_t got = read(opened.get(), part.data(), part.size());
    if (got <= 0 || !rest.starts_with(std::string_view(part.data(), static_cast<std::size_t>(got)))) return false;
    rest.remove_prefix(static_cast<std::size_t>(got));
  }
  return true;
}

// The same files, and no others.
bool shows(const std::string& state, const Payload& payload, std::optional<gid_t> group) {
  std::size_t files = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(state, error), end; !error && at != end; at.increment(error)) {
    if (at->symlink_status(error).type() == fs::file_type::directory) continue;
    const auto wanted = payload.find(at->path().string().substr(state.size() + 1));
    if (wanted == payload.end() || !is_written(at->path().string(), wanted->second, group)) return false;
    ++files;
  }
  return !error && files == payload.size();
}

Status give_directory(const std::string& path, std::optional<gid_t> group) {
  if (group && chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) return not_written(path);
  if (chmod(path.c_str(), group ? 02755 : 0755) != 0) return not_written(path);  // whatever the umask is
  return Status::ok();
}

Status write_file(const std::string& path, const PayloadFile& file, std::optional<gid_t> group) {
  const Descriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made) return not_written(path);
  std::string_view rest = file.bytes;
  while (!rest.empty()) {
    const ssize_t count = write(made.get(), rest.data(), rest.size());
    if (count < 0) return not_written(path);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  if (group && fchown(made.get(), static_cast<uid_t>(-1), *group) != 0) return not_written(path);
  return fchmod(made.get(), file_mode(file, group.has_value())) == 0 ? Status::ok() : not_written(path);
}

Status write_files(const std::string& state, const Payload& payload, std::optional<gid_t> group) {
  if (Status given = give_directory(state, group); !given.is_success()) return given;
  std::set<std::string> made;
  for (const auto& [path, file] : payload) {
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
      const std::string parent = state + "/" + path.substr(0, end);
      if (!made.insert(parent).second) continue;
      if (mkdir(parent.c_str(), 0700) != 0) return not_written(parent);
      if (Status given = give_directory(parent, group); !given.is_success()) return given;
    }
    if (Status written = write_file(state + "/" + path, file, group); !written.is_success()) return written;
  }
  return Status::ok();
}

// Its name; it is complete, and nothing leads to it.
Result<std::string> write_state(const std::string& directory, const Payload& payload, std::optional<gid_t> group) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> stamp{};
  if (gmtime_r(&now, &utc) != nullptr) std::strftime(stamp.data(), stamp.size(), "..%Y_%m_%d_%H_%M_%S.", &utc);
  std::string state = directory + "/" + stamp.data() + "XXXXXX";
  if (mkdtemp(state.data()) == nullptr) return not_written(state);
  if (Status written = write_files(state, payload, group); !written.is_success()) {
    std::error_code ignored;
    fs::remove_all(state, ignored);
    return written;
  }
  return state.substr(directory.size() + 1);
}

Status switch_to(const std::string& directory, const std::string& state) {
  const std::string fresh = directory + "/" + kNewData;
  const std::string data = directory + "/" + kData;
  if (unlink(fresh.c_str()) != 0 && errno != ENOENT) return not_written(fresh);
  if (symlink(state.c_str(), fresh.c_str()) != 0) return not_written(fresh);
  return std::rename(fresh.c_str(), data.c_str()) == 0 ? Status::ok() : not_written(data);
}

// After the switch: a link never leads to what is not there yet.
Status add_links(const std::string& directory, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    const std::string target = std::string(kData) + "/" + name;
    if (link_target(path) == target) continue;
    if (symlink(target.c_str(), path.c_str()) != 0) return not_written(path);
  }
  return Status::ok();
}

// What earlier states, and writes that were killed, have left.
Status remove_others(const std::string& directory, const std::set<std::string>& names, const std::string& state) {
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name != kData && name != state && !names.contains(name)) others.push_back(name);
  }
  for (const std::string& name : others) {
    if (!error) fs::remove_all(directory + "/" + name, error);
  }
  return error ? Status::error("cannot clear " + directory + ": " + error.message()) : Status::ok();
}

}  // namespace

Status check_payload_path(const std::string& path) {
  const std::string what = "path '" + path.substr(0, 64) + "'";
  if (path.empty()) return Status::error("a path must not be empty");
  if (path.size() > kMostPathBytes || path.find('\0') != std::string::npos) {
    return Status::error(what + " must have at most 4096 characters, and no NUL");
  }
  if (path.front() == '/') return Status::error(what + " must be relative");
  if (path.starts_with("..")) return Status::error(what + " must not start with '..'");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = std::string_view(path).substr(at, end - at);
    if (part.empty() || part == "." || part == "..") {
      return Status::error(what + " must not have empty parts, '.' or '..'");
    }
    if (part.size() > kMostNameBytes) return Status::error(what + " must have parts of at most 255 characters");
    at = end + 1;
  }
  return Status::ok();
}

Status check_payload(const Payload& payload) {
  if (payload.size() > kMostPayloadFiles) {
    return Status::error("must have at most " + std::to_string(kMostPayloadFiles) + " files, got " +
                         std::to_string(payload.size()));
  }
  std::size_t bytes = 0;
  for (const auto& [path, file] : payload) {
    if (Status checked = check_payload_path(path); !checked.is_success()) return checked;
    bytes += file.bytes.size();
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
      if (!payload.contains(path.substr(0, end))) continue;
      return Status::error("path '" + path.substr(0, end) + "' must not be both a file and a directory");
    }
  }
  if (bytes <= kMostPayloadBytes) return Status::ok();
  return Status::error("must have at most " + std::to_string(kMostPayloadBytes) + " bytes in all, got " +
                       std::to_string(bytes));
}

Result<bool> write_payload(const std::string& directory, const Payload& payload, std::optional<gid_t> group) {
  if (Status checked = check_payload(payload); !checked.is_success()) return checked;
  std::set<std::string> names;
  for (const auto& [path, file] : payload) names.insert(first_part(path));
  std::string state = link_target(directory + "/" + kData);
  const bool is_there = !state.empty() && shows(directory + "/" + state, payload, group);
  if (!is_there) {
    Result<std::string> written = write_state(directory, payload, group);
    if (!written) return written.error();
    state = std::move(*written);
    if (Status switched = switch_to(directory, state); !switched.is_success()) return switched;
  }
  if (Status removed = remove_others(directory, names, state); !removed.is_success()) return removed;
  if (Status added = add_links(directory, names); !added.is_success()) return added;
  return !is_there;
}

}  // namespace berth
