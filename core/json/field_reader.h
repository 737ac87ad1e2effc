// FieldReader: reads the fields of one JSON object into typed values, and reports errors by path. Reading continues
// after an error, so that all errors are reported at once. Used for Kubernetes objects and for configuration files.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/objects.h"
#include "core/api/quantity.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// "spec" + "nodeName" -> "spec.nodeName"; other keys are quoted: metadata.labels["a.b/c"].
std::string member_path(std::string_view path, std::string_view key);
// "spec.containers" + 0 -> "spec.containers[0]".
std::string item_path(std::string_view path, std::size_t index);
// The value, shortened for an error text: "an object", "a list", null, true, 12, "text".
std::string show_found(const Json& value);

// The errors and warnings about one document, in the order found. Keeps the first kMax of each.
class Findings {
 public:
  static constexpr std::size_t kMax = 20;
  enum class Unknown { warn, refuse };  // how to treat unknown fields

  explicit Findings(Unknown unknown = Unknown::warn, Rules rules = Rules::enforced)
      : unknown_(unknown), rules_(rules) {}
  explicit Findings(Rules rules) : Findings(Unknown::warn, rules) {}

  // `text`: "expected X, got Y; fix".
  void error(std::string_view path, std::string_view text);
  // An error if rules are enforced. Returns whether they are: then the value must not be used.
  bool rule(std::string_view path, std::string_view text);
  void warn(std::string_view path, std::string_view text);
  void unknown(std::string_view path, std::string_view text);

  bool has_errors() const { return errors_count_ > 0; }
  // Success, or Code::error with one reason per error, "<path>: <text>", and the number of those left out.
  Status status() const;
  std::vector<std::string> warnings() const;

 private:
  Unknown unknown_;
  Rules rules_;
  std::vector<std::string> errors_, warnings_;
  std::size_t errors_count_ = 0, warnings_count_ = 0;
};

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
  bool read_double(std::string_view key, double& out, double min, double max);
  // A string or a number; a number is converted to its shortest decimal text.
  bool read_quantity(std::string_view key, Quantity& out);
  // An object with string values.
  bool read_strings(std::string_view key, std::map<std::string, std::string>& out);
  // An object with quantity values, none negative.
  bool read_quantities(std::string_view key, std::map<std::string, Quantity>& out);
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
  // Declares all other fields as known.
  void carry_all() { all_known_ = true; }
  // Reports unknown fields, with the most similar known name. Call last; read_object and read_each do so themselves.
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
  bool all_known_ = false;
};

}  // namespace berth
