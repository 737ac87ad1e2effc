// The syntax of names and labels (apimachinery pkg/api/validation, pkg/util/validation; Topics in
// core/handshake/rules.md).
#pragma once

#include <string_view>

namespace berth {

// [a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?: valid as an object's name and a topic level.
bool is_valid_name(std::string_view text);
// [prefix/]name: the name up to 63 letters, digits, '-', '_', '.', alphanumeric at both ends; the prefix a DNS name.
bool is_label_key(std::string_view text);
// Empty, or like the name part of a key.
bool is_label_value(std::string_view text);
// [a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?: names of containers and volumes.
bool is_dns_label(std::string_view text);
// [A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?: safe as part of a file name, a cgroup or a tag.
bool is_uid(std::string_view text);

}  // namespace berth
