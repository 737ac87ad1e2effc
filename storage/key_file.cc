#include "storage/key_file.h"

#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "storage/paths.h"

namespace berth {

namespace {

Status failed(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

Result<ProofKey> make_proof_key(const std::string& path) {
  ProofKey key{};
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return failed("cannot make the key of " + path);
  }
  if (Status written = write_key_file(path, key); !written.is_success()) return written;
  return key;
}

bool parse_key(const std::string& text, std::span<std::uint8_t> key) {
  if (text.size() != 2 * key.size()) return false;
  for (std::size_t at = 0; at < key.size(); ++at) {
    const char* digits = text.data() + 2 * at;
    const auto [end, failure] = std::from_chars(digits, digits + 2, key[at], 16);
    if (failure != std::errc{} || end != digits + 2) return false;
  }
  return true;
}

}  // namespace

Result<bool> read_key_file(const std::string& path, std::span<std::uint8_t> key) {
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return false;
  if (!file) return failed(path + ": cannot read the key");
  std::string line;
  std::getline(file, line);
  if (file.bad()) return failed(path + ": cannot read the key");
  if (parse_key(line, key)) return true;
  return Status::error(path + ": expected one line of " + std::to_string(2 * key.size()) + " hexadecimal digits");
}

Status write_key_file(const std::string& path, std::span<const std::uint8_t> key) {
  std::string text;
  for (const std::uint8_t byte : key) {
    for (const unsigned digit : {byte / 16u, byte % 16u}) text += "0123456789abcdef"[digit];
  }
  return replace_private_file(path, text + "\n");
}

Result<ProofKey> open_proof_key(const std::string& path) {
  ProofKey key{};
  const Result<bool> found = read_key_file(path, key);
  if (!found) {
    return Status::error(found.error().message() +
                         "; restore the gateway's key from a backup, or remove the file: a new key is made, and what "
                         "devices were given under this one proves nothing any more");
  }
  if (*found) return key;
  return make_proof_key(path);
}

}  // namespace berth
