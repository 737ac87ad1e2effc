// YAML, read into and written from the same values as JSON, with the place of each field kept for error messages.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

struct YamlMark {  // both from 1; columns in characters
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
  std::map<std::string, YamlMark>
      marks;  // by field path as in errors, "spec.containers[0].image": where its key stands
  YamlMark start;
  std::string file;

  // "pods.yaml:12:9": the field's place, or that of the nearest field around it that is there.
  std::string where(std::string_view path) const;
  // A decoder's "spec.priority: wanted ..." -> "pods.yaml:12:9: spec.priority: wanted ...".
  std::string locate(std::string_view reason) const;
};

// Every document of the text, in order; documents that hold nothing are left out. Plain scalars are read by the core
// schema of YAML 1.2, quoted and block ones are strings; a number beyond 2^53 becomes a string with its digits.
// Refused, with "<file>:<line>:<column>: ": what is no YAML, aliases and merge keys, tags other than the core schema's,
// duplicate and composite keys, numbers with leading zeros (octal to some, decimal to others), infinity and NaN, and
// what is over the limits.
Result<std::vector<YamlDocument>> parse_yaml(std::string_view file, std::string_view text, YamlLimits limits = {});

// For configuration: one document; a text without any is an empty object.
Result<YamlDocument> parse_yaml_config(std::string_view file, std::string_view text, YamlLimits limits = {});

// The value as one YAML document in block style, newline at the end. parse_yaml() of it gives the value back.
std::string dump_yaml(const Json& value);

}  // namespace berth
