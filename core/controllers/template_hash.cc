#include "core/controllers/template_hash.h"

#include <string_view>

#include "core/hash.h"
#include "core/json/canonical.h"

namespace berth {

std::string template_hash(const Json& content, const std::optional<std::int32_t>& collision_count) {
  static constexpr std::string_view kCharacters = "bcdfghjklmnpqrstvwxz2456789";
  static constexpr int kLength = 10;
  std::string text = canonical_text(content);
  if (collision_count) text += " " + std::to_string(*collision_count);
  std::uint64_t rest = hash_of(text);
  std::string hash;
  for (int i = 0; i < kLength; ++i, rest /= kCharacters.size()) hash += kCharacters[rest % kCharacters.size()];
  return hash;
}

}  // namespace berth
