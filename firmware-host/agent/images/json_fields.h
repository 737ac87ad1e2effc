// JsonFields: reads the fields of a JSON document that somebody else has made. The first fault is kept, with the path
// of its field, and ends the reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

class JsonFields {
 public:
  struct Limits {
    std::size_t entries;
    std::size_t string;
  };

  // `path`: of `object` in the document, empty for all of it. A field that is null counts as absent.
  JsonFields(const Json* object, std::string path, Limits limits, Status& fault);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Each returns an empty value after a fault, or when the field is absent; `required` makes that one a fault.
  std::string string(std::string_view name, bool required = false);
  std::int64_t size(std::string_view name);  // required, not negative
  std::vector<std::string> strings(std::string_view name);
  std::vector<std::string> keys(std::string_view name);  // of a map to empty objects
  std::vector<std::pair<std::string, std::string>> map(std::string_view name);
  std::string digest(std::string_view name);  // required, sha256
  JsonFields object(std::string_view name, bool required = false);
  std::vector<JsonFields> objects(std::string_view name);

  std::string path_of(std::string_view name) const;
  // Keeps the first: "<path> must be <what>".
  void fail(const std::string& path, const std::string& what);

 private:
  const Json* find(std::string_view name) const;
  std::string checked(const Json& value, const std::string& path);
  const Json* list(std::string_view name, Json::Type type, const char* what);

  const Json* object_;
  std::string path_;
  Limits limits_;
  Status* fault_;
};

}  // namespace berth
