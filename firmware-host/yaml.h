// Reads YAML into, and writes it from, the same values as JSON; keeps the position of each field for error messages.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

struct YamlMark {  // both start at 1; columns in characters
  int line = 1;
  int column = 1;
};

struct YamlLimits {
  std::size_t bytes = 4 << 20;
  std::size_t values = 200'000;  // in all documents together
  int depth = 64;
};

struct YamlDocument {
  Json value;
  std::map<std::string, YamlMark> marks;  // position of each key, by field path: "spec.containers[0].image"
  YamlMark start;
  std::string file;

  // "pods.yaml:12:9": the position of the field, or of the nearest enclosing field that exists.
  std::string where(std::string_view path) const;
  // A decoder's "spec.priority: expected ..." -> "pods.yaml:12:9: spec.priority: expected ...".
  std::string locate(std::string_view reason) const;
};

// Every document of the text, in order, without empty ones. Plain scalars are read by the core schema of YAML 1.2, but
// a number with a leading zero is octal, as in YAML 1.1 and so in manifests of Kubernetes; quoted and block scalars are
// strings; a number beyond 2^53 becomes a string with its digits. Errors, with "<file>:<line>:<column>: ": invalid
// YAML, aliases and merge keys, tags other than the core schema's, duplicate and complex keys, octal numbers with a
// digit 8 or 9, infinity and NaN, and anything over the limits.
Result<std::vector<YamlDocument>> parse_yaml(std::string_view file, std::string_view text, YamlLimits limits = {});

// For configuration files: one document; an empty text is an empty object.
Result<YamlDocument> parse_yaml_config(std::string_view file, std::string_view text, YamlLimits limits = {});

// The value as one YAML document in block style, ending in a newline. parse_yaml() of it returns the same value.
std::string dump_yaml(const Json& value);

}  // namespace berth
