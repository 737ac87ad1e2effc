// Configs: what is kept of ConfigMaps and Secrets besides the objects: their size, which have changed, and the seal of
// Secrets.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/config_objects.h"
#include "core/sealer.h"

namespace berth {

class Configs {
 public:
  // `sealer` outlives it. Null: Secrets are not kept.
  explicit Configs(Sealer* sealer) : sealer_(sealer) {}

  // A Secret as it is stored. An error: it cannot be sealed now.
  Result<std::string> seal(const std::string& record_key, const Secret& secret);
  // The Secret of a record. What cannot be read is locked, with the reason: the key may be put back.
  Secret open(std::string_view record_key, std::string_view record);

  // An object has come or changed: its manifest's text has so many bytes now; 0: it is gone.
  void note_changed(Kind kind, const std::string& key, std::size_t bytes);
  // ConfigMaps and Secrets that came, changed or went since the last call, with repetitions.
  std::vector<std::pair<Kind, std::string>> take_changed() { return std::exchange(changed_, {}); }
  // What the texts of all ConfigMaps and Secrets have.
  std::size_t bytes() const { return bytes_; }
  // What that of one of them has; 0: there is none.
  std::size_t bytes_of(Kind kind, const std::string& key) const {
    const auto known = sizes_.find({kind, key});
    return known == sizes_.end() ? 0 : known->second;
  }

 private:
  Sealer* sealer_;
  std::map<std::pair<Kind, std::string>, std::size_t> sizes_;
  std::size_t bytes_ = 0;
  std::vector<std::pair<Kind, std::string>> changed_;
};

}  // namespace berth
