#include "firmware-host/gateway/secret_sealer.h"

#include <sys/random.h>

#include "storage/key_file.h"

namespace berth {

namespace {

// The form of what is sealed: later ones begin with another byte.
constexpr char kForm = 1;

}  // namespace

Status SecretSealer::load() {
  if (key_) return Status::ok();
  CipherKey key{};
  const Result<bool> found = read_key_file(path_, key);
  if (!found) {
    return Status::error(found.error().message() + "; restore the key of Secrets from a backup, then restart berthd");
  }
  if (*found) key_ = key;
  return Status::ok();
}

Status SecretSealer::make() {
  CipherKey key{};
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return Status::error(path_ + ": cannot make a random key");
  }
  Status written = write_key_file(path_, key);
  if (written.is_success()) key_ = key;
  return written;
}

// Under two keys the older Secrets would be lost without a word: as long as one cannot be opened, none is sealed.
Result<std::string> SecretSealer::seal(std::string_view name, std::string_view bytes) {
  if (!unopened_.empty()) return Status::error(unopened_);
  Status ready = load();
  if (ready.is_success() && !key_) ready = make();
  if (!ready.is_success()) return ready;
  const Result<std::string> encrypted = encrypt(*key_, name, bytes);
  if (!encrypted) return encrypted.error();
  return std::string(1, kForm) + *encrypted;
}

Result<std::string> SecretSealer::open(std::string_view name, std::string_view sealed) {
  Status ready = load();
  if (ready.is_success() && !key_) {
    ready = Status::error(path_ +
                          ": the key of Secrets is missing; restore it from a backup and restart berthd, or delete the "
                          "Secrets, restart, and apply them again");
  }
  if (ready.is_success()) {
    const bool is_known = !sealed.empty() && sealed.front() == kForm;
    std::optional<std::string> bytes = is_known ? decrypt(*key_, name, sealed.substr(1)) : std::nullopt;
    if (bytes) return std::move(*bytes);
    ready = Status::error(path_ +
                          ": this is not the key that it was sealed with, or it is damaged; restore the key of Secrets "
                          "from a backup and restart berthd, or delete the Secret, restart, and apply it again");
  }
  unopened_ = ready.message();
  return ready;
}

}  // namespace berth
