#include "firmware-host/ctl/text.h"

#include <algorithm>

#include "firmware-host/yaml.h"

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

}  // namespace

std::string pretty_json(const Json& value) {
  std::string out;
  write_json(value, 0, out);
  return out + "\n";
}

std::string document(OutputForm form, const Json& object) {
  return form == OutputForm::json ? pretty_json(object) : dump_yaml(object);
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
