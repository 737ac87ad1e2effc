#include "firmware-host/agent/secret_files.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "storage/paths.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = 4 << 20;
constexpr char kSlash = '_';  // no name has one

Status cannot(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

}  // namespace

bool SecretFiles::is_usable() {
  if (is_usable_) return *is_usable_;
  const Status prepared = prepare();
  is_usable_ = prepared.is_success();
  if (!prepared.is_success()) {
    log_.write(Level::warn,
               "Secrets are kept in memory only: after a restart of the agent the gateway gives them again",
               {{"reason", prepared.message()}});
  }
  return *is_usable_;
}

Status SecretFiles::prepare() const {
  std::error_code error;
  fs::create_directories(fs::path(directory_).parent_path(), error);
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return cannot("cannot make " + directory_);
  struct stat is{};
  if (::lstat(directory_.c_str(), &is) != 0) return cannot("cannot look at " + directory_);
  if (!S_ISDIR(is.st_mode) || is.st_uid != ::geteuid() || (is.st_mode & 077) != 0) {
    return Status::error(directory_ + ": must be a directory of this user alone, of mode 0700");
  }
  struct statfs on{};
  if (::statfs(directory_.c_str(), &on) != 0) return cannot("cannot look at " + directory_);
  const auto type = static_cast<unsigned long>(on.f_type);
  if (type != TMPFS_MAGIC && type != RAMFS_MAGIC) return Status::error(directory_ + ": is not on a tmpfs");
  return Status::ok();
}

std::string SecretFiles::path_of(const std::string& key) const {
  std::string name = key;
  std::replace(name.begin(), name.end(), '/', kSlash);
  return directory_ + "/" + name;
}

std::map<std::string, std::string> SecretFiles::load() {
  std::map<std::string, std::string> found;
  std::error_code error;
  if (!fs::exists(directory_, error) || !is_usable()) return found;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    if (at->path().string().ends_with(kUnfinished)) {
      remove_file(at->path());
      continue;
    }
    if (!at->is_regular_file() || at->file_size() > kFileBytesMax) continue;
    std::ostringstream text;
    text << std::ifstream(at->path(), std::ios::binary).rdbuf();
    std::string key = at->path().filename().string();
    std::replace(key.begin(), key.end(), kSlash, '/');
    found.emplace(std::move(key), text.str());
  }
  return found;
}

void SecretFiles::put(const std::string& key, const std::string& value) {
  if (!is_usable()) return;
  const Status written = replace_private_file(path_of(key), value);
  if (!written.is_success())
    log_.write(Level::warn, "a Secret is kept in memory only", {{"reason", written.message()}});
}

void SecretFiles::erase(const std::string& key) {
  if (is_usable()) remove_file(path_of(key));
}

void SecretFiles::clear() {
  for (const auto& [key, value] : load()) erase(key);
}

}  // namespace berth
