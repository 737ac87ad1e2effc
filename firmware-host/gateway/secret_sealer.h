// SecretSealer: seals Secrets under a key in a file of its own, beside the database and not in it, so that a copy of
// the database alone tells no Secret.
#pragma once

#include <optional>
#include <string>

#include "core/sealer.h"
#include "transports/authenticated_cipher.h"

namespace berth {

class SecretSealer final : public Sealer {
 public:
  // `path`: of the key file: one line of 64 hexadecimal digits, readable by its owner alone. Read, and if need be made,
  // when a Secret is first opened or sealed.
  explicit SecretSealer(std::string path) : path_(std::move(path)) {}

  Result<std::string> seal(std::string_view name, std::string_view bytes) override;
  Result<std::string> open(std::string_view name, std::string_view sealed) override;

 private:
  Status load();
  Status make();

  const std::string path_;
  std::optional<CipherKey> key_;
  std::string unopened_;  // why something sealed could not be opened; empty: nothing of that kind was met
};

}  // namespace berth
