// Json: an owned JSON value. Parsing is stricter than cJSON's, see json_scan.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/status.h"

namespace berth {

class Json {
 public:
  enum class Type { null, boolean, number, string, array, object };
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the order parsed or set

  struct Limits {
    std::size_t bytes = 65536;  // longer texts are refused without parsing
    int depth = 64;
  };

  Json() = default;  // null
  Json(bool value) : value_(value) {}
  Json(int value) : value_(static_cast<double>(value)) {}
  // |value| <= 2^53 (CHECK); encode larger numbers as strings.
  Json(std::int64_t value);
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::in_place_type<std::string>, value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::in_place_type<std::string>, value) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  static Json object() { return Json(Object{}); }
  static Json array() { return Json(Array{}); }

  // Refuses, with the position in the error: text over the limits, trailing bytes, invalid UTF-8, duplicate keys, NUL
  // characters, numbers that are not finite or not JSON, integers beyond 2^53.
  static Result<Json> parse(std::string_view text) { return parse(text, Limits{}); }
  static Result<Json> parse(std::string_view text, Limits limits);
  // Compact text.
  std::string dump() const;

  Type type() const { return static_cast<Type>(value_.index()); }
  bool is_null() const { return type() == Type::null; }
  bool is_bool() const { return type() == Type::boolean; }
  bool is_number() const { return type() == Type::number; }
  bool is_integer() const;  // a number without fraction, |n| <= 2^53
  bool is_string() const { return type() == Type::string; }
  bool is_array() const { return type() == Type::array; }
  bool is_object() const { return type() == Type::object; }

  // Each CHECKs the type.
  bool as_bool() const;
  double as_double() const;
  std::int64_t as_int() const;
  const std::string& as_string() const;
  const Array& as_array() const;
  const Object& as_object() const;
  Array& as_array();
  Object& as_object();

  // Member of an object by exact name; null when absent or not an object. The pointer is valid until *this changes.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // The string of that name; empty when there is none, or it is no string.
  std::string string_at(std::string_view key) const;
  // Sets or replaces a member; a null value becomes an object first. Returns *this, for chaining.
  Json& set(std::string_view key, Json value);
  void erase(std::string_view key);
  void push_back(Json value);  // a null value becomes an array first

  bool operator==(const Json&) const = default;

 private:
  // In the order of Type.
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

}  // namespace berth
