#include "firmware-host/agent/oci/seccomp_profile.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/json/members.h"

namespace berth {

namespace {

bool contains(const Json::Array& values, std::string_view text) {
  return std::any_of(values.begin(), values.end(),
                     [&](const Json& value) { return value.is_string() && value.as_string() == text; });
}

// The names of libseccomp, as archMap has them.
std::string_view native_name(std::string_view architecture) {
  if (architecture == "amd64") return "SCMP_ARCH_X86_64";
  if (architecture == "arm64") return "SCMP_ARCH_AARCH64";
  return "SCMP_ARCH_ARM";
}

struct Site {
  const std::string& architecture;
  const std::vector<std::string>& capabilities;
};

// All conditions of `includes` have to hold (containers/common, pkg/seccomp/filter.go): one of the architectures, and
// every capability.
bool includes_hold(const Json& includes, const Site& site) {
  const Json::Array& architectures = list_of(includes, "arches");
  if (!architectures.empty() && !contains(architectures, site.architecture)) return false;
  const Json::Array& capabilities = list_of(includes, "caps");
  return std::all_of(capabilities.begin(), capabilities.end(), [&](const Json& name) {
    return std::any_of(site.capabilities.begin(), site.capabilities.end(),
                       [&](const std::string& has) { return name == Json(has); });
  });
}

// One of the conditions of `excludes` is enough.
bool excludes_hold(const Json& excludes, const Site& site) {
  if (contains(list_of(excludes, "arches"), site.architecture)) return true;
  return std::any_of(site.capabilities.begin(), site.capabilities.end(),
                     [&](const std::string& has) { return contains(list_of(excludes, "caps"), has); });
}

Json architectures_of(const Json& profile, const Site& site) {
  const std::string_view native = native_name(site.architecture);
  Json names = Json::array();
  for (const Json& each : list_of(profile, "archMap")) {
    if (each.string_at("architecture") != native) continue;
    names.push_back(native);
    for (const Json& other : list_of(each, "subArchitectures")) names.push_back(other);
  }
  if (names.as_array().empty()) names.push_back(native);
  return names;
}

}  // namespace

std::string seccomp_architecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "arm";
#endif
}

Result<Json> seccomp_of(const Json& profile, const std::string& architecture,
                        const std::vector<std::string>& capabilities) {
  const Site site{architecture, capabilities};
  if (profile.string_at("defaultAction").empty()) return Status::error("seccomp profile: defaultAction: missing");
  if (!member(profile, "syscalls").is_array()) return Status::error("seccomp profile: syscalls: must be a list");
  Json result = Json::object();
  result.set("defaultAction", profile.string_at("defaultAction"));
  if (const Json& number = member(profile, "defaultErrnoRet"); number.is_integer()) {
    result.set("defaultErrnoRet", number);
  }
  const Json& own = member(profile, "architectures");
  result.set("architectures", own.is_array() ? own : architectures_of(profile, site));
  Json rules = Json::array();
  for (const Json& rule : list_of(profile, "syscalls")) {
    if (!includes_hold(member(rule, "includes"), site) || excludes_hold(member(rule, "excludes"), site)) continue;
    if (!member(rule, "names").is_array() || rule.string_at("action").empty()) {
      return Status::error("seccomp profile: syscalls: each needs names and an action");
    }
    Json made = Json::object();
    made.set("names", member(rule, "names")).set("action", rule.string_at("action"));
    if (const Json& number = member(rule, "errnoRet"); number.is_integer()) made.set("errnoRet", number);
    if (const Json::Array& arguments = list_of(rule, "args"); !arguments.empty()) made.set("args", Json(arguments));
    rules.push_back(std::move(made));
  }
  result.set("syscalls", std::move(rules));
  return result;
}

}  // namespace berth
