// FieldReader: reads the fields of one JSON object into typed values, and says what is wrong by path.
// Reading never stops at the first fault: a person gets all of them at once. Used for Kubernetes objects and for
// configuration files.
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

// "spec" + "nodeName" -> "spec.nodeName"; keys that are no plain word are quoted: metadata.labels["a.b/c"].
std::string member_path(std::string_view path, std::string_view key);
// "spec.containers" + 0 -> "spec.containers[0]".
std::string item_path(std::string_view path, std::size_t index);
// What stands there, short: "an object", "a list", null, true, 12, "text".
std::string show_found(const Json& value);

// What reading one document found, in the order read. Keeps the first kMax of each sort.
class Findings {
 public:
  static constexpr std::size_t kMax = 20;
  enum class Unknown { warn, refuse };  // what an unknown field is

  explicit Findings(Unknown unknown = Unknown::warn, Rules rules = Rules::enforced)
      : unknown_(unknown), rules_(rules) {}
  explicit Findings(Rules rules) : Findings(Unknown::warn, rules) {}

  // `text`: "wanted X, found Y; fix".
  void error(std::string_view path, std::string_view text);
  // An error when rules are enforced. True when they are: the value is not to be taken.
  bool rule(std::string_view path, std::string_view text);
  void warn(std::string_view path, std::string_view text);
  void unknown(std::string_view path, std::string_view text);

  bool has_errors() const { return errors_count_ > 0; }
  // Success, or Code::error with one reason per error, "<path>: <text>", and a last one that counts what was left out.
  Status status() const;
  std::vector<std::string> warnings() const;

 private:
  Unknown unknown_;
  Rules rules_;
  std::vector<std::string> errors_, warnings_;
  std::size_t errors_count_ = 0, warnings_count_ = 0;
};

// One word of an enumeration and what it stands for.
template <class E>
struct Word {
  std::string_view text;
  E value;
};

// Reads one object. Does not own it: the value and the findings outlive the reader. A field is known once any of the
// functions below has named it; finish() reports the others. A JSON null counts as absent, as in Kubernetes.
// Each read_ function: absent: `out` unchanged, false; of the wrong form: an error, `out` unchanged, false; else true.
// Ranges and forms of names are rules: where those are not asked for, a value that its type can hold is taken.
class FieldReader {
 public:
  // `value` that is not an object: one error, and the reader is as of an empty one that misses nothing.
  FieldReader(const Json& value, std::string path, Findings& findings);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const { return member_path(path_, key); }
  Findings& findings() { return findings_; }
  void error(std::string_view key, std::string_view text) { findings_.error(path_of(key), text); }
  // An error of a manifest that Kubernetes' validation refuses though it can be read.
  void rule(std::string_view key, std::string_view text) { findings_.rule(path_of(key), text); }
  void warn(std::string_view key, std::string_view text) { findings_.warn(path_of(key), text); }

  // The member; null when absent.
  const Json* take(std::string_view key);
  bool has(std::string_view key) { return take(key) != nullptr; }
  // A rule's breach when absent; `what` names what is wanted: "a container image".
  bool require(std::string_view key, std::string_view what);

  bool read_string(std::string_view key, std::string& out);
  bool read_bool(std::string_view key, bool& out);
  bool read_int32(std::string_view key, std::int32_t& out, std::int32_t min = std::numeric_limits<std::int32_t>::min(),
                  std::int32_t max = std::numeric_limits<std::int32_t>::max());
  // A number, or a string of digits: numbers beyond 2^53 travel so.
  bool read_int64(std::string_view key, std::int64_t& out, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                  std::int64_t max = std::numeric_limits<std::int64_t>::max());
  bool read_double(std::string_view key, double& out, double min, double max);
  // A string or a number; a number is read by its shortest decimal text.
  bool read_quantity(std::string_view key, Quantity& out);
  // An object of strings.
  bool read_strings(std::string_view key, std::map<std::string, std::string>& out);
  // An object of quantities, none negative.
  bool read_quantities(std::string_view key, std::map<std::string, Quantity>& out);
  // A list of strings.
  bool read_list(std::string_view key, std::vector<std::string>& out);
  // A string that `valid` accepts; `form` says what is wanted: "a name of lower-case letters, digits, '-' and '.'".
  bool read_checked(std::string_view key, std::string& out, bool (*valid)(std::string_view), std::string_view form);

  // One of the words; the error lists them.
  template <class E, std::size_t N>
  bool read_word(std::string_view key, const std::array<Word<E>, N>& words, E& out) {
    std::string text;
    if (!read_string(key, text)) return false;
    for (const Word<E>& word : words) {
      if (word.text == text) {
        out = word.value;
        return true;
      }
    }
    std::vector<std::string_view> texts;
    for (const Word<E>& word : words) texts.push_back(word.text);
    wrong_word(key, text, texts);
    return false;
  }
  // The same, kept as text.
  bool read_word(std::string_view key, std::initializer_list<std::string_view> words, std::string& out);

  // Calls read(FieldReader&) on the member when it is there and an object, then finishes it.
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

  // Names fields that are known but not read here.
  void carry(std::initializer_list<std::string_view> keys);
  // Names fields that mean something to Kubernetes' scheduler and nothing yet to Berth: a warning for each that is
  // there and not empty.
  void not_honoured(std::initializer_list<std::string_view> keys);
  // Every other field is known.
  void carry_all() { all_known_ = true; }
  // Reports what is unknown, with the nearest known name. Call last; read_object and read_each do it themselves.
  void finish();

 private:
  const Json* take_list(std::string_view key);
  void wrong(std::string_view key, std::string_view wanted, const Json& found, std::string_view fix);
  void wrong_word(std::string_view key, std::string_view found, const std::vector<std::string_view>& words);

  const Json* value_;
  std::string path_;
  Findings& findings_;
  std::vector<std::string_view> known_;  // names are literals of the callers
  bool is_object_;
  bool all_known_ = false;
};

}  // namespace berth
