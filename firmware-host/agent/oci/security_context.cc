#include "firmware-host/agent/oci/security_context.h"

#include <limits>
#include <string_view>

#include "core/json/members.h"

namespace berth {

namespace {

// Reads one securityContext into what the one before it asked for.
class Reader {
 public:
  Reader(const Json& context, std::string path) : context_(context), path_(std::move(path)) {}

  // Only fields of a pod's: a manifest may say "privileged" there, which Kubernetes does not know.
  Status read_of_pod(Security& security) {
    read_common(security);
    read_ids("supplementalGroups", security.groups);
    std::optional<std::uint32_t> volumes_group;
    read_id("fsGroup", volumes_group);
    if (volumes_group) security.groups.push_back(*volumes_group);
    read_sysctls(security);
    return status_;
  }
  Status read_of_container(Security& security) {
    read_common(security);
    read_flag("privileged", security.privileged);
    bool may_escalate = true;
    read_flag("allowPrivilegeEscalation", may_escalate);
    security.no_new_privileges = !may_escalate;
    read_flag("readOnlyRootFilesystem", security.read_only_root);
    read_proc_mount(security);
    read_capabilities("add", security.added);
    read_capabilities("drop", security.dropped);
    return status_;
  }

 private:
  void read_common(Security& security) {
    read_id("runAsUser", security.user);
    read_id("runAsGroup", security.group);
    read_flag("runAsNonRoot", security.must_not_be_root);
    read_seccomp(security);
  }
  void fail(const std::string& field, const std::string& why) {
    if (status_.is_success()) status_ = Status::error(path_ + "." + field + ": " + why);
  }
  std::optional<std::uint32_t> to_id(const Json& value, const std::string& field) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // validation.go IsValidUserID
    if (value.is_integer() && value.as_int() >= 0 && value.as_int() <= kMost) {
      return static_cast<std::uint32_t>(value.as_int());
    }
    fail(field, "must be a number from 0 to " + std::to_string(kMost));
    return std::nullopt;
  }
  void read_id(const char* field, std::optional<std::uint32_t>& id) {
    const Json& value = member(context_, field);
    if (!value.is_null()) id = to_id(value, field);
  }
  void read_ids(const char* field, std::vector<std::uint32_t>& ids) {
    const Json& values = member(context_, field);
    if (values.is_null()) return;
    if (!values.is_array()) return fail(field, "must be a list of numbers");
    for (const Json& value : values.as_array()) {
      if (const auto id = to_id(value, field)) ids.push_back(*id);
    }
  }
  void read_flag(const char* field, bool& flag) {
    const Json& value = member(context_, field);
    if (value.is_null()) return;
    if (!value.is_bool()) return fail(field, "must be true or false");
    flag = value.as_bool();
  }
  void read_proc_mount(Security& security) {
    const std::string mount = context_.string_at("procMount");
    if (!mount.empty() && mount != "Default" && mount != "Unmasked") {
      return fail("procMount", "expected Default or Unmasked, got '" + mount + "'");
    }
    security.proc_unmasked = mount == "Unmasked";
  }
  void read_capabilities(const char* which, std::vector<std::string>& names) {
    const std::string field = std::string("capabilities.") + which;
    const Json& values = member(member(context_, "capabilities"), which);
    if (values.is_null()) return;
    if (!values.is_array()) return fail(field, "must be a list of names such as NET_ADMIN");
    for (const Json& value : values.as_array()) {
      if (!value.is_string() || value.as_string().empty()) return fail(field, "must be a list of names");
      const std::string& name = value.as_string();
      names.push_back(name.starts_with("CAP_") ? name : "CAP_" + name);
    }
  }
  void read_seccomp(Security& security) {
    const Json& profile = member(context_, "seccompProfile");
    if (profile.is_null()) return;
    const std::string type = profile.string_at("type");
    security.seccomp_profile = profile.string_at("localhostProfile");
    if (type == "RuntimeDefault") {
      security.seccomp = Security::Seccomp::runtime_default;
    } else if (type == "Unconfined") {
      security.seccomp = Security::Seccomp::unconfined;
    } else if (type == "Localhost") {
      security.seccomp = Security::Seccomp::localhost;
      if (security.seccomp_profile.empty()) fail("seccompProfile.localhostProfile", "names the file of the profile");
    } else {
      fail("seccompProfile.type", "expected RuntimeDefault, Localhost or Unconfined, got '" + type + "'");
    }
  }
  void read_sysctls(Security& security) {
    const Json& values = member(context_, "sysctls");
    if (values.is_null()) return;
    if (!values.is_array()) return fail("sysctls", "must be a list of objects with name and value");
    for (const Json& each : values.as_array()) {
      const std::string name = each.string_at("name");
      if (name.empty()) return fail("sysctls", "each needs a name, such as net.core.somaxconn");
      security.sysctls.emplace_back(name, each.string_at("value"));
    }
  }

  const Json& context_;
  const std::string path_;
  Status status_;
};

}  // namespace

Result<Security> security_of(const Json& pod_spec, const Json& container, const std::string& path) {
  Security security;
  if (Status read = Reader(member(pod_spec, "securityContext"), "spec.securityContext").read_of_pod(security);
      !read.is_success()) {
    return read;
  }
  const std::string own = path + ".securityContext";
  if (Status read = Reader(member(container, "securityContext"), own).read_of_container(security); !read.is_success()) {
    return read;
  }
  // core/validation ValidateSecurityContext
  if (security.privileged && security.no_new_privileges) {
    return Status::error(own + ".allowPrivilegeEscalation: cannot be false in a privileged container");
  }
  if (security.must_not_be_root && security.user == 0u) {
    return Status::error(own + ".runAsUser: is 0, and runAsNonRoot is true");
  }
  return security;
}

}  // namespace berth
