#include "firmware-host/agent/probe_response.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace berth {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lowered;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// "HTTP/1.1 200 OK"; 0: it is none.
int status_of(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || !is_digit(line[7]) || line[8] != ' ') return 0;
  if (line.size() > 12 && line[12] != ' ') return 0;
  int status = 0;
  const char* const end = line.data() + 12;
  return std::from_chars(line.data() + 9, end, status).ptr == end && status >= 100 ? status : 0;
}

}  // namespace

void HttpResponseHead::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (complete_ || !fault_.empty()) return;
    if (++taken_ > kHeadBytesMax) {
      fault_ = "server response headers exceeded " + std::to_string(kHeadBytesMax) + " bytes";
    } else if (c == '\n') {
      end_line();
    } else if (line_.size() < kLineBytesMax) {
      line_ += c;
    }
  }
}

void HttpResponseHead::end_line() {
  const std::string line = std::exchange(line_, {});
  std::string_view text = line;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (status_ == 0) {
    status_ = status_of(text);
    if (status_ == 0) fault_ = "malformed HTTP response \"" + std::string(text.substr(0, 100)) + "\"";
  } else if (text.empty()) {
    // 100 Continue and the like come before the response proper.
    const bool is_interim = status_ < 200 && status_ != 101;
    complete_ = !is_interim;
    if (is_interim) status_ = 0;
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    if (lower(text.substr(0, colon)) == "location") location_ = trimmed(text.substr(colon + 1));
  }
}

bool is_redirect(const HttpResponseHead& head) {
  const int status = head.status();
  return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
         !head.location().empty();
}

Redirection redirect(const HttpTarget& from, std::string_view location) {
  location = location.substr(0, location.find('#'));
  const std::string low = lower(location);
  HttpTarget to = from;
  const std::size_t scheme = low.find_first_of(":/?");
  if (scheme != std::string::npos && low[scheme] == ':') {
    if (!low.starts_with("http://") && !low.starts_with("https://")) return {};
    to.is_encrypted = low.starts_with("https:");
    location.remove_prefix(scheme + 1);
  }
  if (location.starts_with("//")) {
    const std::size_t end = std::min(location.find_first_of("/?", 2), location.size());
    std::string_view authority = location.substr(2, end - 2);
    location.remove_prefix(end);
    to.port = to.is_encrypted ? 443 : 80;
    const std::size_t colon = authority.rfind(':');
    if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
      const std::string_view port = authority.substr(colon + 1);
      std::from_chars(port.data(), port.data() + port.size(), to.port);
      authority = authority.substr(0, colon);
    }
    if (authority.starts_with('[') && authority.ends_with(']')) authority = authority.substr(1, authority.size() - 2);
    if (authority != from.host) return {};
    to.path = "/";
  }
  const std::string path = to.path.substr(0, to.path.find('?'));
  if (location.starts_with('/')) {
    to.path = location;
  } else if (location.starts_with('?')) {
    to.path = path + std::string(location);
  } else if (!location.empty()) {
    to.path = path.substr(0, path.rfind('/') + 1) + std::string(location);
  }
  return {Redirect::follow, to};
}

}  // namespace berth
