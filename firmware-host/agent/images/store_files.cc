#include "firmware-host/agent/images/store_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "firmware-host/agent/images/layer_unpacker.h"
#include "firmware-host/agent/images/sha256.h"

namespace berth {

namespace fs = std::filesystem;

Status StoreFiles::make() const {
  for (const std::string& directory :
       {root_, blobs(), blobs() + "/sha256", layers(), images(), pins(), partial(), staging(), trash()}) {
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return Status::error("cannot make " + directory + ": " + std::strerror(errno));
    }
  }
  return Status::ok();
}

std::string StoreFiles::record_name(const std::string& key) { return hex(sha256_digest(key)) + ".json"; }

bool StoreFiles::has_layers(const std::vector<std::string>& chain) const {
  for (const std::string& id : chain) {
    std::error_code error;
    if (!fs::is_directory(layer(id), error)) return false;
  }
  return true;
}

Result<std::string> StoreFiles::read(const std::string& path, std::size_t most_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::error("cannot open " + path + ": " + std::strerror(errno));
  std::string text;
  std::array<char, 16384> buffer;
  ssize_t n = 0;
  do {
    n = ::read(fd, buffer.data(), buffer.size());
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  } while ((n > 0 && text.size() <= most_bytes) || (n < 0 && errno == EINTR));
  const int error = errno;
  close(fd);
  if (n < 0) return Status::error("cannot read " + path + ": " + std::strerror(error));
  if (text.size() > most_bytes) return Status::error(path + " has more than " + std::to_string(most_bytes) + " bytes");
  return text;
}

Result<std::string> StoreFiles::read_blob(const std::string& digest, std::size_t most_bytes) const {
  Result<std::string> text = read(blob(digest), most_bytes);
  if (text && sha256_digest(*text) != digest)
    return Status::error(blob(digest) + " does not have the digest of its name");
  return text;
}

bool StoreFiles::discard(const std::string& path) {
  for (;;) {
    const std::string to = trash() + "/" + std::to_string(discards_++);
    struct stat there{};
    if (lstat(to.c_str(), &there) == 0) continue;  // of an earlier run
    return rename(path.c_str(), to.c_str()) == 0 || errno == ENOENT;
  }
}

std::vector<std::string> StoreFiles::discarded() const {
  std::vector<std::string> paths;
  for (const std::string& name : entries(trash())) paths.push_back(trash() + "/" + name);
  return paths;
}

void StoreFiles::discard_leftovers() {
  for (const std::string& name : entries(staging())) {
    if (!discard(staging() + "/" + name)) return;
  }
  for (const std::string& name : entries(layers())) {
    if (name.ends_with(LayerUnpack::kPartial) && !discard(layers() + "/" + name)) return;
  }
}

std::vector<std::string> StoreFiles::entries(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

}  // namespace berth
