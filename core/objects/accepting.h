// What accepting a manifest of any kind has in common.
#pragma once

#include <string>

#include "core/api/decode.h"
#include "core/api/kind.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// Decodes under the rules. `expected_key`: the name that the topic says; empty: any.
template <class T>
Result<T> decode_named(Result<T> (*decode)(const Json&, Warnings*, Rules), const Json& object,
                       const std::string& expected_key, Warnings& warnings) {
  Result<T> decoded = decode(object, &warnings, Rules::enforced);
  if (decoded && !expected_key.empty() && decoded->metadata.key() != expected_key) {
    return Status::error("metadata.name: the object is \"" + decoded->metadata.key() + "\", the topic says \"" +
                         expected_key + "\"");
  }
  return decoded;
}

// The member of that name when it is an object, else null: the decoder then says what is wrong with it.
Json* object_at(Json& manifest, std::string_view key);

// An operator's manifest as it is taken: objects of a namespaced kind without one live in "default"; that an object is
// being deleted is the gateway's to say.
Json as_accepted(Kind kind, Json object);

// "<namespace>/<name>", or "<name>" for kinds without namespace; empty when the manifest has no name.
std::string key_of(Kind kind, const Json& manifest);

// metadata.uid of a manifest; empty: none, or no manifest.
std::string uid_of(const Json& manifest);

}  // namespace berth
