// The names of directories that belong to one pod, "<uid>@<epoch>", and of its tags.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/agent/runtime.h"

namespace berth {

// Whether the uid can be part of a directory's name.
bool is_plain(const std::string& uid);
std::string directory_name(const Tag& tag);
// "<uid><separator><epoch>"; none: it is something else.
std::optional<Tag> parse_tag(std::string_view text, char separator);
inline std::optional<Tag> tag_of_directory(std::string_view name) { return parse_tag(name, '@'); }

}  // namespace berth
