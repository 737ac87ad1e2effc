// Reading objects that came from the gateway: what is missing or of another type reads as empty.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/json/json.h"

namespace berth {

// The member at the end of a path of names; null when a step is missing.
const Json* field(const Json& object, std::initializer_list<std::string_view> path);
// Its text: strings as they are, numbers and booleans as JSON writes them, anything else empty.
std::string text_field(const Json& object, std::initializer_list<std::string_view> path);
// The list at the path; empty when there is none.
const Json::Array& list_field(const Json& object, std::initializer_list<std::string_view> path);
const Json::Object& object_field(const Json& object, std::initializer_list<std::string_view> path);
bool true_field(const Json& object, std::initializer_list<std::string_view> path);

// "k=v,k2=v2" of an object of strings.
std::string join_pairs(const Json::Object& pairs);
// "key=value:Effect" of one taint.
std::string taint_text(const Json& taint);
// True when status.conditions has `type` with status "True".
bool has_condition(const Json& object, std::string_view type);

}  // namespace berth
