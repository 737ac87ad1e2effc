// Findings: the errors and warnings about one JSON document, each with the path of its field.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// Whether validation rules are enforced besides types: required fields, valid names and ranges, mutually exclusive
// fields; for Kubernetes objects, the validation of its API server. `strict`: unknown fields are errors as well. `off`
// checks only the types of fields and the object's name: for objects accepted before, possibly under other rules, and
// for objects recorded elsewhere.
enum class Rules { enforced, strict, off };

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
  // Of a document that somebody else has made: what it holds beyond the fields that are read is ignored, its first
  // error is enough, and what is longer than the bounds is one.
  struct Bounds {
    std::size_t entries = std::numeric_limits<std::size_t>::max();  // of a list or an object
    std::size_t bytes = std::numeric_limits<std::size_t>::max();    // of a string
  };
  explicit Findings(Bounds bounds) : bounds_(bounds), readers_check_(false), is_first_enough_(true) {}
  // For Kubernetes objects: FieldReaders leave unknown fields to whoever knows all that the objects may have.
  explicit Findings(Rules rules) : Findings(rules == Rules::strict ? Unknown::refuse : Unknown::warn, rules) {
    readers_check_ = false;
  }

  // `text`: "expected X, got Y; fix".
  void error(std::string_view path, std::string_view text);
  // An error if it is longer than the bounds; returns whether it is not.
  bool fits(std::string_view path, const Json& value);
  // An error if rules are enforced. Returns whether they are: then the value must not be used.
  bool rule(std::string_view path, std::string_view text);
  void warn(std::string_view path, std::string_view text);
  // An unknown field; `hint` follows: "; did you mean spec?".
  void unknown(std::string_view path, std::string_view hint);

  // Each key that is asked for is appended, by its path, until the findings end; it outlives them. For a reference of
  // the keys that a document may have.
  void tell_keys(std::vector<std::string>& keys) { keys_ = &keys; }
  std::vector<std::string>* keys() const { return keys_; }

  bool has_errors() const { return errors_count_ > 0; }
  bool has_unknown() const { return has_unknown_; }
  bool refuses_unknown() const { return unknown_ == Unknown::refuse; }
  bool readers_check() const { return readers_check_; }  // whether FieldReaders report unknown fields
  // Success, or Code::error with one reason per error, "<path>: <text>", and the number of those left out.
  Status status() const;
  std::vector<std::string> warnings() const;

 private:
  Unknown unknown_ = Unknown::warn;
  Rules rules_ = Rules::enforced;
  Bounds bounds_;
  std::vector<std::string> errors_, warnings_;
  std::size_t errors_count_ = 0, warnings_count_ = 0;
  bool has_unknown_ = false, readers_check_ = true, is_first_enough_ = false;
  std::vector<std::string>* keys_ = nullptr;
};

// Whether a warning is about an unknown field.
bool is_about_unknown_field(std::string_view warning);

}  // namespace berth
