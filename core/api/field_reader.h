// FieldReader: reads the members of one JSON object by name and type. It carries the path of the object, collects what
// is wrong as "path: what is wanted", and knows which members nobody asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/json.h"
#include "core/api/quantity.h"
#include "core/status.h"

namespace berth {

// What one decoding found, shared by all readers of it.
struct Findings {
  std::vector<std::string> errors;    // "spec.containers[0].name: a string is wanted, found a number"
  std::vector<std::string> warnings;  // "spec.imagee: unknown field"
  Status status() const { return errors.empty() ? Status::ok() : Status(Code::error, errors); }
};

class FieldReader {
 public:
  // `json` and `findings` outlive the reader. A value that is no object is an error, and every field then is absent.
  FieldReader(const Json& json, std::string path, Findings& findings);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const;
  void fail(std::string_view key, const std::string& what);
  void warn(std::string_view key, const std::string& what);

  // Absent and null are the same. The raw value, marked as read.
  const Json* value(std::string_view key);
  bool has(std::string_view key) { return value(key) != nullptr; }
  std::string text(std::string_view key, std::string_view fallback = {});
  std::string required_text(std::string_view key);
  std::optional<std::string> optional_text(std::string_view key);
  // One of the words; another is an error that lists them. Absent: the first.
  std::string word(std::string_view key, std::initializer_list<std::string_view> words);
  bool boolean(std::string_view key, bool fallback = false);
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t lowest, std::int64_t highest);
  // A quantity as a string or a number, not negative.
  std::optional<Quantity> quantity(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::map<std::string, std::string> text_map(std::string_view key);
  std::map<std::string, Quantity> quantity_map(std::string_view key);
  // Calls `read` with a reader of the object, or of each object in the array.
  bool object(std::string_view key, const std::function<void(FieldReader&)>& read);
  std::size_t each(std::string_view key, const std::function<void(FieldReader&)>& read);

  // Known, but not read here: no warning.
  void accept(std::initializer_list<std::string_view> keys);
  // Known and meaningful to Kubernetes, but not honoured: a warning that says so.
  void not_honoured(std::initializer_list<std::string_view> keys);
  // Warns of every member that was not asked for.
  void finish();

 private:
  const Json* find(std::string_view key, Json::Type type, std::string_view wanted);

  const Json& json_;
  std::string path_;
  Findings& findings_;
  std::set<std::string, std::less<>> read_;
};

// "a string", "a number", ...
std::string_view type_name(const Json& json);

}  // namespace berth
