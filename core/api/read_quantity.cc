#include "core/api/read_quantity.h"

namespace berth {
namespace {

// From a string, or from a number's shortest decimal form.
Result<Quantity> to_quantity(const Json& value) {
  if (value.is_string()) return Quantity::parse(value.as_string());
  if (value.is_number()) return Quantity::parse(value.dump());
  return Status::error("expected a quantity such as 250m, 2 or 64Mi, got " + show_found(value));
}

}  // namespace

bool read_quantity(FieldReader& reader, std::string_view key, Quantity& out) {
  const Json* value = reader.take(key);
  if (value == nullptr) return false;
  const Result<Quantity> quantity = to_quantity(*value);
  if (!quantity) {
    reader.error(key, quantity.error().message());
    return false;
  }
  out = *quantity;
  return true;
}

bool read_quantities(FieldReader& reader, std::string_view key, ResourceList& out) {
  const Json* value = reader.take(key);
  if (value == nullptr) return false;
  FieldReader members(*value, reader.path_of(key), reader.findings());
  if (!value->is_object()) return false;
  ResourceList quantities;
  bool good = true;
  for (const auto& [name, text] : value->as_object()) {
    const Result<Quantity> quantity = to_quantity(text);
    if (quantity && *quantity >= Quantity()) {
      quantities.emplace(name, *quantity);
      continue;
    }
    members.error(name, quantity ? "must not be negative, got " + show_found(text) : quantity.error().message());
    good = false;
  }
  if (good) out = std::move(quantities);
  return good;
}

}  // namespace berth
