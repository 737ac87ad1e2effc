// Manifests: files of one or more documents, decoded here with the gateway's decoders, so that invalid ones are never
// sent.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/kind.h"
#include "core/json/json.h"
#include "firmware-host/ctl/options.h"

namespace berth {

struct ManifestDocument {
  const KindName* kind = nullptr;
  std::string name_space;  // empty for kinds without one
  std::string name;
  Json object;
  std::string where;                // "pods.yaml:12:1"
  bool has_generated_name = false;  // from generateName

  // "pod/default/sensor", "node/n1".
  std::string title() const;
};

// "pod/default/sensor"; an empty namespace is omitted.
std::string title_of(const KindName& kind, const std::string& name_space, const std::string& name);

// What manifests hold: the valid ones, in order, and what is wrong with the others, each line "file:line:column: path:
// error; fix".
struct Manifests {
  std::vector<ManifestDocument> valid;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

struct ManifestRules {
  std::string name_space = "default";  // for objects without one
  Validation validation = Validation::strict;
  // Random text to append to metadata.generateName of an object without a name; none: such an object is invalid.
  std::function<std::string()> suffix;
};

// Appends what one file holds to `to`. `file` is for messages. Empty documents are skipped; of a file that is no YAML
// nothing is valid.
void read_manifests(const std::string& file, std::string_view text, const ManifestRules& rules, Manifests& to);

}  // namespace berth
