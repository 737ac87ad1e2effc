#include "core/certificates.h"

#include <algorithm>

namespace berth {

namespace {

bool is_of_body(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' ||
         c == '=' || c == '\n';
}

}  // namespace

bool is_pem(std::string_view text, std::string_view label) {
  if (text.size() > kCertificateBytesMax) return false;
  const std::string begin = "-----BEGIN " + std::string(label) + "-----\n";
  const std::string end = "\n-----END " + std::string(label) + "-----";
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() <= begin.size() + end.size() || !text.starts_with(begin) || !text.ends_with(end)) return false;
  text = text.substr(begin.size(), text.size() - begin.size() - end.size());
  return std::all_of(text.begin(), text.end(), is_of_body);
}

}  // namespace berth
