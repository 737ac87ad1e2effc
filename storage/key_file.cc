#include "storage/key_file.h"

#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "storage/paths.h"

namespace berth {

namespace {

constexpr std::size_t kDigits = 2 * std::tuple_size_v<ProofKey>;

Status failed(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

Result<ProofKey> make_proof_key(const std::string& path) {
  ProofKey key{};
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return failed("cannot make the key of " + path);
  }
  std::string text;
  for (const std::uint8_t byte : key) {
    for (const unsigned digit : {byte / 16u, byte % 16u}) text += "0123456789abcdef"[digit];
  }
  if (Status written = replace_private_file(path, text + "\n"); !written.is_success()) return written;
  return key;
}

bool parse_key(const std::string& text, ProofKey& key) {
  if (text.size() != kDigits) return false;
  for (std::size_t at = 0; at < key.size(); ++at) {
    const char* digits = text.data() + 2 * at;
    const auto [end, failure] = std::from_chars(digits, digits + 2, key[at], 16);
    if (failure != std::errc{} || end != digits + 2) return false;
  }
  return true;
}

}  // namespace

Result<ProofKey> open_proof_key(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return make_proof_key(path);
  if (!file) return failed(path + ": cannot read the gateway's key");
  std::string line;
  std::getline(file, line);
  if (file.bad()) return failed(path + ": cannot read the gateway's key");
  ProofKey key{};
  if (parse_key(line, key)) return key;
  return Status::error(path + ": expected one line of " + std::to_string(kDigits) +
                       " hexadecimal digits; restore the gateway's key from a backup, or remove the file: a new key is "
                       "made, and what devices were given under this one proves nothing any more");
}

}  // namespace berth
