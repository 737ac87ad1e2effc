#include "firmware-host/agent/images/image_reference.h"

#include <algorithm>

#include "core/ascii.h"

namespace berth {

namespace {

constexpr std::string_view kDefaultDomain = "docker.io";
constexpr std::string_view kLegacyDefaultDomain = "index.docker.io";
constexpr std::string_view kOfficialPrefix = "library/";
constexpr std::string_view kDefaultTag = "latest";
constexpr std::string_view kSha256 = "sha256:";
constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kLongestPath = 255;  // RepositoryNameTotalLengthMax
constexpr std::size_t kLongestTag = 128;
constexpr std::size_t kLongestText = 1024;  // no valid name is longer, and an error quotes it

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter_or_digit(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
bool is_path_letter(char c) { return is_lower(c) || is_digit(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool has_upper(std::string_view text) { return std::ranges::any_of(text, is_upper); }

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// domain-component: letters, digits and dashes, no dash at either end.
bool is_host_label(std::string_view label) {
  return !label.empty() && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

bool is_host_name(std::string_view host) {
  for (;;) {
    const std::size_t dot = host.find('.');
    if (!is_host_label(host.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

// No zone and no dotted part: the grammar has neither.
bool is_ipv6(std::string_view host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']' &&
         std::ranges::all_of(host.substr(1, host.size() - 2),
                             [](char c) { return is_hex(c) || (c >= 'A' && c <= 'F') || c == ':'; });
}

// Empty: `domain` is valid.
std::string fault_of_domain(std::string_view domain) {
  const std::size_t bracket = domain.rfind(']');
  const std::size_t colon = domain.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = domain.substr(0, colon);
  if (!is_host_name(host) && !is_ipv6(host)) {
    return "the host " + quoted(host) + " must be a DNS name, an IPv4 address or an IPv6 address in brackets";
  }
  if (colon == std::string_view::npos) return {};
  const std::string_view port = domain.substr(colon + 1);
  if (!port.empty() && std::ranges::all_of(port, is_digit)) return {};
  return "the port " + quoted(port) + " must be a number";
}

// separator: one dot, one or two underscores, or any number of dashes.
bool is_separator(std::string_view text) {
  return text == "." || text == "_" || text == "__" || std::ranges::all_of(text, [](char c) { return c == '-'; });
}

bool is_path_component(std::string_view text) {
  if (text.empty() || !is_path_letter(text.front()) || !is_path_letter(text.back())) return false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_path_letter(text[end])) ++end;
    if (end > at && !is_separator(text.substr(at, end - at))) return false;
    at = end + 1;
  }
  return true;
}

std::string fault_of_path(std::string_view path) {
  if (has_upper(path)) return "the repository " + quoted(path) + " must be in lower case";
  if (path.size() > kLongestPath) {
    return "the repository has " + std::to_string(path.size()) + " characters, at most " +
           std::to_string(kLongestPath) + " are allowed";
  }
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view component = path.substr(at, slash - at);
    if (component.empty()) return "the repository " + quoted(path) + " has an empty part";
    if (!is_path_component(component)) {
      return "the part " + quoted(component) +
             " must be lower-case letters and digits, separated by one dot, one or two underscores, or dashes";
    }
    at = slash + 1;
  }
  return {};
}

std::string fault_of_tag(std::string_view tag) {
  const auto is_tag_letter = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; };
  if (tag.empty()) return "the tag after the colon is empty";
  if (tag.size() > kLongestTag) {
    return "the tag has " + std::to_string(tag.size()) + " characters, at most " + std::to_string(kLongestTag) +
           " are allowed";
  }
  if (tag.front() != '.' && tag.front() != '-' && std::ranges::all_of(tag, is_tag_letter)) return {};
  return "the tag " + quoted(tag) + " must be letters, digits, '_', '.' and '-', and begin with none of the last two";
}

std::string fault_of_digest(std::string_view digest) {
  if (is_sha256_digest(digest)) return {};
  if (!digest.starts_with(kSha256)) return "the digest " + quoted(digest) + " must begin with sha256:";
  return "the digest " + quoted(digest) + " must have 64 lower-case hexadecimal digits";
}

struct Parts {
  std::string_view domain;
  std::string path;
  std::string_view suffix;  // tag and digest, with their separators
};

// splitDockerDomain() of normalize.go.
Parts split(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view first = text.substr(0, slash);
  Parts parts{.domain = kDefaultDomain, .path = {}, .suffix = {}};
  std::string_view rest = text;
  if (slash != std::string_view::npos &&
      (first == "localhost" || first.find_first_of(".:") != std::string_view::npos || has_upper(first))) {
    parts.domain = first == kLegacyDefaultDomain ? kDefaultDomain : first;
    rest = text.substr(slash + 1);
  }
  const bool is_official = parts.domain == kDefaultDomain && rest.find('/') == std::string_view::npos;
  const std::size_t end = std::min(rest.find_first_of(":@"), rest.size());
  parts.path = std::string(is_official ? kOfficialPrefix : "") + std::string(rest.substr(0, end));
  parts.suffix = rest.substr(end);
  return parts;
}

std::string fault_of(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text.size() > kLongestText) return "it has more than " + std::to_string(kLongestText) + " characters";
  if (text.find("://") != std::string_view::npos) return "it must have no scheme (https://) before the host";
  // It could be taken for the id of an image (anchoredIdentifierRegexp).
  if (text.size() == kSha256Digits && std::ranges::all_of(text, is_hex)) {
    return "64 hexadecimal digits are the id of an image, not a name";
  }
  return {};
}

}  // namespace

bool is_sha256_digest(std::string_view text) {
  return text.starts_with(kSha256) && text.size() == kSha256.size() + kSha256Digits &&
         std::ranges::all_of(text.substr(kSha256.size()), is_hex);
}

std::string ImageReference::text() const { return name() + (digest.empty() ? ":" + tag : "@" + digest); }

Result<ImageReference> parse_image_reference(std::string_view text) {
  const auto invalid = [&](const std::string& fault) {
    return Status::error("image name " + quoted(text.substr(0, kLongestText)) + ": " + fault);
  };
  if (const std::string fault = fault_of(text); !fault.empty()) return invalid(fault);
  const Parts parts = split(text);
  const std::size_t at = parts.suffix.find('@');
  const std::string_view tag = parts.suffix.substr(0, at);  // with its colon
  if (const std::string fault = fault_of_domain(parts.domain); !fault.empty()) return invalid(fault);
  if (const std::string fault = fault_of_path(parts.path); !fault.empty()) return invalid(fault);
  if (!tag.empty()) {
    if (const std::string fault = fault_of_tag(tag.substr(1)); !fault.empty()) return invalid(fault);
  }
  ImageReference reference{.domain = std::string(parts.domain), .path = parts.path, .tag = {}, .digest = {}};
  if (at == std::string_view::npos) {
    reference.tag = tag.empty() ? kDefaultTag : tag.substr(1);
    return reference;
  }
  reference.digest = parts.suffix.substr(at + 1);
  if (const std::string fault = fault_of_digest(reference.digest); !fault.empty()) return invalid(fault);
  return reference;
}

}  // namespace berth
