// Accessors for objects from the gateway: a missing member or one of another type reads as empty.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/json/json.h"

namespace berth {

// The member at a path of names; null if any part is missing.
const Json* field(const Json& object, std::initializer_list<std::string_view> path);
// Its text: strings unchanged, numbers and booleans as in JSON, anything else empty.
std::string text_field(const Json& object, std::initializer_list<std::string_view> path);
// The list at the path; empty if missing.
const Json::Array& list_field(const Json& object, std::initializer_list<std::string_view> path);
const Json::Object& object_field(const Json& object, std::initializer_list<std::string_view> path);
bool true_field(const Json& object, std::initializer_list<std::string_view> path);

// The items of a list; one that is no string as in JSON.
std::string join_texts(const Json::Array& list, std::string_view separator);
// "k=v,k2=v2" from an object of strings.
std::string join_pairs(const Json::Object& pairs);
// "key=value:Effect" from a taint.
std::string taint_text(const Json& taint);
// True if status.conditions has `type` with status "True".
bool has_condition(const Json& object, std::string_view type);

}  // namespace berth
