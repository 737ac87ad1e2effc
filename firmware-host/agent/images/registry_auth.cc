#include "firmware-host/agent/images/registry_auth.h"

#include <algorithm>

#include "core/ascii.h"
#include "core/json/json.h"

namespace berth {

namespace {

constexpr std::string_view kChallenge = "www-authenticate:";
constexpr std::size_t kTokenBytesMax = 32 * 1024;

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool has_prefix(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() && std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(),
                                                          [](char a, char b) { return a == to_lower(b); });
}

// name="value" among others; empty: there is none.
std::string parameter(std::string_view text, const std::string& name) {
  const std::string begin = name + "=\"";
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != ',') continue;
    const std::string_view rest = text.substr(at + begin.size());
    const std::size_t end = rest.find('"');
    return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
  }
  return {};
}

template <class Take>
void each_line(std::string_view head, const Take& take) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
  }
}

}  // namespace

std::optional<RegistryChallenge> read_challenge(std::string_view head) {
  std::optional<RegistryChallenge> found;
  each_line(head, [&](std::string_view line) {
    if (line.starts_with("HTTP/")) found.reset();  // of the redirection before
    if (!has_prefix(line, kChallenge)) return;
    line.remove_prefix(kChallenge.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (has_prefix(line, "basic")) found = RegistryChallenge{};
    if (!has_prefix(line, "bearer ")) return;
    RegistryChallenge bearer{true, parameter(line, "realm"), parameter(line, "service")};
    if (!bearer.realm.empty()) found = std::move(bearer);
  });
  return found;
}

int http_status_of(std::string_view head) {
  int status = 0;
  each_line(head, [&](std::string_view line) {
    const std::size_t space = line.find(' ');
    if (!line.starts_with("HTTP/") || space == std::string_view::npos || line.size() < space + 4) return;
    status = 0;
    for (const char c : line.substr(space + 1, 3)) status = is_digit(c) ? status * 10 + (c - '0') : 0;
  });
  return status;
}

std::string read_token(std::string_view json) {
  const Result<Json> parsed = Json::parse(json, {.bytes = 2 * kTokenBytesMax, .depth = 8});
  if (!parsed || !parsed->is_object()) return {};
  std::string token = parsed->string_at("token");
  if (token.empty()) token = parsed->string_at("access_token");
  return token.size() <= kTokenBytesMax ? token : std::string();
}

std::string curl_option(std::string_view option, std::string_view value) {
  std::string line = std::string(option) + " = \"";
  for (const char c : value) {
    if (c == '\n' || c == '\r' || c == '\0') continue;
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  return line + "\"\n";
}

std::string token_request(const RegistryChallenge& challenge, const std::string& repository,
                          const std::optional<Credential>& credential) {
  std::string config = curl_option("url", challenge.realm) + "get\n";
  if (!challenge.service.empty()) config += curl_option("data-urlencode", "service=" + challenge.service);
  config += curl_option("data-urlencode", "scope=repository:" + repository + ":pull");
  if (credential) config += curl_option("user", credential->username + ":" + credential->password);
  return config;
}

}  // namespace berth
