#include "firmware-host/agent/images/registry_keyring.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base64.h"
#include "core/json/json.h"
#include "core/json/members.h"
#include "firmware-host/agent/images/store_files.h"

namespace berth {

namespace {

constexpr const char* kConfigJsonKey = ".dockerconfigjson";
constexpr const char* kConfigKey = ".dockercfg";
constexpr const char* kDefaultPlace = "index.docker.io";  // of docker.io
constexpr std::size_t kConfigBytesMax = 1 << 20;          // of a Secret, or of a file

using Places = std::vector<std::pair<std::string, Credential>>;

struct Place {
  std::string_view host;
  std::string_view port;  // empty: none
  std::string_view path;  // with its slash
};

Place place_of(std::string_view text) {
  Place place;
  const std::size_t slash = std::min(text.find('/'), text.size());
  place.path = text.substr(slash);
  place.host = text.substr(0, slash);
  const std::size_t colon = place.host.rfind(':');
  const std::size_t bracket = place.host.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) return place;
  place.port = place.host.substr(colon + 1);
  place.host = place.host.substr(0, colon);
  return place;
}

// Add(): without its scheme; /v1/ and /v2/ are the host.
std::string normalized(std::string_view text) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (text.starts_with(scheme)) {
      text.remove_prefix(scheme.size());
      break;
    }
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string_view path = text.substr(slash);
  if (path.starts_with("/v1/") || path.starts_with("/v2/")) path.remove_prefix(3);
  return std::string(text.substr(0, slash)) + std::string(path == "/" ? "" : path);
}

// filepath.Match, for each part of a host.
bool hosts_match(std::string_view pattern, std::string_view host) {
  for (;;) {
    const std::size_t pattern_dot = pattern.find('.');
    const std::size_t host_dot = host.find('.');
    if ((pattern_dot == std::string_view::npos) != (host_dot == std::string_view::npos)) return false;
    const std::string part(pattern.substr(0, pattern_dot));
    if (fnmatch(part.c_str(), std::string(host.substr(0, host_dot)).c_str(), 0) != 0) return false;
    if (host_dot == std::string_view::npos) return true;
    pattern.remove_prefix(pattern_dot + 1);
    host.remove_prefix(host_dot + 1);
  }
}

// URLsMatch()
bool matches(const std::string& pattern, const std::string& name) {
  const Place wanted = place_of(pattern);
  const Place place = place_of(name);
  return wanted.port == place.port && place.path.starts_with(wanted.path) && hosts_match(wanted.host, place.host);
}

// "auth" counts before username and password, as DockerConfigEntry's UnmarshalJSON has it.
Result<Credential> credential_of(const Json& entry) {
  const std::string auth = entry.string_at("auth");
  if (auth.empty()) return Credential{entry.string_at("username"), entry.string_at("password")};
  const std::size_t padding = (4 - auth.size() % 4) % 4;
  const Result<std::string> decoded = from_base64(auth + std::string(padding, '='));
  const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos) return Status::error("each auth must be the base64 of username:password");
  return Credential{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

Result<Json> parse_config(const std::string& text) { return Json::parse(text, {.bytes = kConfigBytesMax, .depth = 8}); }

Result<Places> read_places(const std::string& text, bool has_auths) {
  const Result<Json> json = parse_config(text);
  if (!json || !json->is_object()) return Status::error("must be a JSON object");
  const Json& auths = has_auths ? member(*json, "auths") : *json;
  Places places;
  if (!auths.is_object()) return places;
  for (const auto& [place, entry] : auths.as_object()) {
    Result<Credential> credential = credential_of(entry);
    if (!credential) return credential.error();
    places.emplace_back(normalized(place), std::move(*credential));
  }
  return places;
}

bool needs_skopeo(const Json& config, const std::string& registry) {
  if (!member(config, "credHelpers").string_at(registry).empty()) return true;
  const Json& auths = member(config, "auths");
  return auths.is_object() && std::ranges::any_of(auths.as_object(), [](const auto& auth) {
           return !auth.second.string_at("identitytoken").empty();
         });
}

}  // namespace

Status RegistryKeyring::add(const std::map<std::string, std::string>& secret) {
  for (const char* key : {kConfigJsonKey, kConfigKey}) {
    const auto value = secret.find(key);
    if (value == secret.end() || value->second.empty()) continue;
    Result<Places> places = read_places(value->second, key == kConfigJsonKey);
    if (!places) return Status::error(std::string("key ") + key + ": " + places.error().message());
    for (auto& [place, credential] : *places) credentials_[place].push_back(std::move(credential));
    break;
  }
  return Status::ok();
}

std::vector<Credential> RegistryKeyring::find(const ImageReference& image) const {
  std::vector<Credential> found;
  for (const auto& [place, credentials] : credentials_) {
    if (matches(place, image.name())) found.insert(found.end(), credentials.begin(), credentials.end());
  }
  const auto of_default = credentials_.find(kDefaultPlace);
  if (found.empty() && image.domain == "docker.io" && of_default != credentials_.end()) return of_default->second;
  return found;
}

Result<std::optional<Credential>> credential_of_file(const std::string& path, const ImageReference& image) {
  const Result<std::string> text = StoreFiles::read(path, kConfigBytesMax);
  if (!text) return text.error();
  RegistryKeyring keyring;
  if (const Status added = keyring.add({{kConfigJsonKey, *text}}); !added.is_success()) return added;
  const Result<Json> config = parse_config(*text);
  if (config && needs_skopeo(*config, image.domain)) {
    return Status::error(path + ": has what only skopeo can use for " + image.domain);
  }
  // An entry without contents is what docker leaves behind when a helper keeps them.
  for (Credential& credential : keyring.find(image)) {
    if (credential != Credential{}) return std::optional(std::move(credential));
  }
  return std::optional<Credential>();
}

std::string auth_file_text(const std::string& registry, const Credential& credential) {
  const std::string auth = to_base64(credential.username + ":" + credential.password);
  return Json::object().set("auths", Json::object().set(registry, Json::object().set("auth", Json(auth)))).dump();
}

}  // namespace berth
