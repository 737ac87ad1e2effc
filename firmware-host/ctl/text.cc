#include "firmware-host/ctl/text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace berth {

namespace {

void write_json(const Json& value, std::size_t depth, std::string& out) {
  const auto break_line = [&out](std::size_t indent) { out.append("\n").append(indent * 2, ' '); };
  if (value.is_array() && !value.as_array().empty()) {
    std::string_view before = "[";
    for (const Json& item : value.as_array()) {
      out += before;
      break_line(depth + 1);
      write_json(item, depth + 1, out);
      before = ",";
    }
    break_line(depth);
    out += ']';
  } else if (value.is_object() && !value.as_object().empty()) {
    std::string_view before = "{";
    for (const auto& [key, item] : value.as_object()) {
      out += before;
      break_line(depth + 1);
      out += Json(key).dump() + ": ";
      write_json(item, depth + 1, out);
      before = ",";
    }
    break_line(depth);
    out += '}';
  } else {
    out += value.dump();
  }
}

// Letters, digits and a few signs inside, and no word or number that YAML reads as something else.
bool is_plain_yaml(std::string_view text) {
  constexpr std::string_view kInside = "-_./ ";
  constexpr std::array<std::string_view, 10> kWords = {"null", "true", "false", "yes", "no",
                                                       "on",   "off",  "y",     "n",   "~"};
  if (text.empty() || text.back() == ' ' || !std::isalpha(static_cast<unsigned char>(text.front()))) return false;
  std::string lower;
  for (const char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && kInside.find(c) == std::string_view::npos) return false;
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

std::string yaml_scalar(const Json& value) {
  if (value.is_string() && is_plain_yaml(value.as_string())) return value.as_string();
  return value.dump();  // a JSON scalar is a YAML scalar; so are [] and {}
}

bool is_nested(const Json& value) {
  return (value.is_array() && !value.as_array().empty()) || (value.is_object() && !value.as_object().empty());
}

// `in_item`: the first line continues an enclosing "- ".
void write_yaml(const Json& value, std::size_t depth, bool in_item, std::string& out) {
  const auto indent = [&] {
    if (!in_item) out.append(depth * 2, ' ');
    in_item = false;
  };
  if (value.is_array() && is_nested(value)) {
    for (const Json& item : value.as_array()) {
      indent();
      out += "- ";
      if (is_nested(item)) {
        write_yaml(item, depth + 1, true, out);
      } else {
        out += yaml_scalar(item) + "\n";
      }
    }
    return;
  }
  if (!is_nested(value)) {
    out += yaml_scalar(value) + "\n";
    return;
  }
  for (const auto& [key, item] : value.as_object()) {
    indent();
    out += yaml_scalar(Json(key)) + ":";
    if (is_nested(item)) {
      out += "\n";
      // Lists stand below their key without more indent, as kubectl writes them.
      write_yaml(item, item.is_array() ? depth : depth + 1, false, out);
    } else {
      out += " " + yaml_scalar(item) + "\n";
    }
  }
}

}  // namespace

std::string pretty_json(const Json& value) {
  std::string out;
  write_json(value, 0, out);
  return out + "\n";
}

std::string to_yaml(const Json& value) {
  std::string out;
  write_yaml(value, 0, false, out);
  return out;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    // C1 controls are two bytes in UTF-8, 0xc2 0x80 to 0xc2 0x9f.
    const bool is_c1 = byte >= 0x80 && byte < 0xa0 && i > 0 && static_cast<unsigned char>(out[i - 1]) == 0xc2;
    if (is_c1) {
      out.replace(i - 1, 2, "?");
      --i;
    } else if (byte < 0x20 || byte == 0x7f) {
      out[i] = '?';
    }
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace berth
