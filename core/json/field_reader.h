// FieldReader: reads the fields of one JSON object into typed values, and reports errors by path. Reading continues
// after an error, so that all errors are reported at once. Used for Kubernetes objects, for configuration files, and
// for documents that others have made (Findings::Bounds).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/findings.h"
#include "core/json/json.h"

namespace berth {

// The name of an enumeration value and the value.
template <class E>
struct EnumName {
  std::string_view text;
  E value;
};

// Reads one object. Does not own it: the value and the findings must outlive the reader. A field is known once it was
// passed to any of the functions below; finish() reports the others. A JSON null counts as absent, as in Kubernetes.
// The read_ functions return false and leave `out` unchanged if the field is absent or, after reporting an error,
// invalid. Ranges and the syntax of names are rules: if rules are off, any value of the right type is accepted.
class FieldReader {
 public:
  // If `value` is not an object, this is reported and the reader acts as for an empty object without required fields.
  FieldReader(const Json& value, std::string path, Findings& findings);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const { return member_path(path_, key); }
  Findings& findings() { return findings_; }
  void error(std::string_view key, std::string_view text) { findings_.error(path_of(key), text); }
  // An error in a manifest that can be decoded but that Kubernetes' validation refuses.
  void rule(std::string_view key, std::string_view text) { findings_.rule(path_of(key), text); }
  void warn(std::string_view key, std::string_view text) { findings_.warn(path_of(key), text); }

  // The member; null when absent.
  const Json* take(std::string_view key);
  bool has(std::string_view key) { return take(key) != nullptr; }
  // Violates a rule when absent; `what` describes the field: "a container image".
  bool require(std::string_view key, std::string_view what);

  bool read_string(std::string_view key, std::string& out);
  bool read_bool(std::string_view key, bool& out);
  bool read_int32(std::string_view key, std::int32_t& out, std::int32_t min = std::numeric_limits<std::int32_t>::min(),
                  std::int32_t max = std::numeric_limits<std::int32_t>::max());
  // A number, or a string of digits, which allows numbers beyond 2^53.
  bool read_int64(std::string_view key, std::int64_t& out, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                  std::int64_t max = std::numeric_limits<std::int64_t>::max());
  // An object with string values.
  bool read_strings(std::string_view key, std::map<std::string, std::string>& out);
  // The keys of an object, whose values are not looked at.
  bool read_keys(std::string_view key, std::vector<std::string>& out);
  // A list of strings.
  bool read_list(std::string_view key, std::vector<std::string>& out);
  // A string that `valid` accepts; `form` describes it: "a name of lower-case letters, digits, '-' and '.'".
  bool read_checked(std::string_view key, std::string& out, bool (*valid)(std::string_view), std::string_view form);

  // One of the names; the error lists them.
  template <class E, std::size_t N>
  bool read_enum(std::string_view key, const std::array<EnumName<E>, N>& names, E& out) {
    std::string text;
    if (!read_string(key, text)) return false;
    for (const EnumName<E>& name : names) {
      if (name.text == text) {
        out = name.value;
        return true;
      }
    }
    std::vector<std::string_view> texts;
    for (const EnumName<E>& name : names) texts.push_back(name.text);
    report_unknown_name(key, text, texts);
    return false;
  }
  // The same, kept as a string.
  bool read_enum(std::string_view key, std::initializer_list<std::string_view> names, std::string& out);

  // Calls read(FieldReader&) on the member if it is present and an object, then finishes it.
  template <class F>
  bool read_object(std::string_view key, F&& read) {
    const Json* value = take(key);
    if (value == nullptr) return false;
    FieldReader member(*value, path_of(key), findings_);
    if (value->is_object()) read(member);
    member.finish();
    return true;
  }
  // Calls read(FieldReader&) on each item of a list of objects, in order, and finishes each.
  template <class F>
  bool read_each(std::string_view key, F&& read) {
    const Json* list = take_list(key);
    if (list == nullptr) return false;
    std::size_t index = 0;
    for (const Json& value : list->as_array()) {
      FieldReader item(value, item_path(path_of(key), index++), findings_);
      if (value.is_object()) read(item);
      item.finish();
    }
    return true;
  }

  // Declares fields that are known but not read.
  void carry(std::initializer_list<std::string_view> keys);
  // Declares fields that Kubernetes' scheduler supports and Berth does not yet: a warning for each that is present and
  // not empty.
  void unsupported(std::initializer_list<std::string_view> keys);
  // Reports unknown fields, with the most similar known name, unless the findings are of a Kubernetes object. Call
  // last; read_object and read_each do so themselves.
  void finish();

 private:
  const Json* take_list(std::string_view key);
  void report_expected(std::string_view key, std::string_view expected, const Json& found, std::string_view fix);
  void report_unknown_name(std::string_view key, std::string_view found, const std::vector<std::string_view>& names);

  const Json* value_;
  std::string path_;
  Findings& findings_;
  std::vector<std::string_view> known_;  // views of the callers' string literals
  bool is_object_;
};

}  // namespace berth
