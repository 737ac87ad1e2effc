#include "firmware-host/agent/containers/container_machine.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/images/child_program.h"
#include "firmware-host/agent/oci/seccomp_profile.h"
#include "firmware-host/agent/workload.h"

namespace berth {

namespace {

// crun needs the unified hierarchy for limits; runc knows both, and takes longer.
std::vector<std::string> runtimes_for_this_machine() {
  if (is_unified()) return {"crun", "runc"};
  return {"runc"};
}

// It does nothing but print it.
Status check_skopeo(const std::string& skopeo) {
  const ProgramEnd printed = run_program({.arguments = {skopeo, "--version"}, .input = {}, .secret = {}});
  Status status = printed.code == 0 ? check_skopeo_version(printed.output)
                                    : Status::error("it cannot be executed: " + printed.error);
  if (status.is_success()) return status;
  return Status::error("program " + skopeo + ": " + status.message() +
                       "; install another, or name its path in containers.skopeo");
}

}  // namespace

Result<ContainerMachine> find_container_machine(const ContainerSettings& settings, const std::string& search_path) {
  const bool is_automatic = settings.runtime == ContainerSettings::kAutomatic;
  if (settings.runtime == ContainerSettings::kNone) return Status::error("containers.runtime is none");
  if (geteuid() != 0) return Status::error("berth-agent does not run as root");
  ContainerMachine machine;
  machine.settings = settings;
  for (const std::string& name : is_automatic ? runtimes_for_this_machine() : std::vector{settings.runtime}) {
    if (machine.runtime.empty()) machine.runtime = find_program(name, search_path, "/");
  }
  if (machine.runtime.empty()) {
    const std::string wanted = is_automatic ? runtimes_for_this_machine().front() : settings.runtime;
    return Status::error("program " + wanted + " not found: install it, or name another in containers.runtime");
  }
  machine.skopeo = find_program(settings.skopeo, search_path, "/");
  if (machine.skopeo.empty()) {
    return Status::error("program " + settings.skopeo +
                         " not found: install it, or name its path in containers.skopeo");
  }
  if (Status usable = check_skopeo(machine.skopeo); !usable.is_success()) return usable;
  machine.curl = find_program(settings.curl, search_path, "/");
  if (access(kDefaultSeccomp, R_OK) != 0) {
    return Status::error(std::string("there is no ") + kDefaultSeccomp +
                         ", the default seccomp profile: install golang-github-containers-common");
  }
  machine.limits_memory = has_memory_controller();
  machine.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return machine;
}

SourceOptions source_options_of(const ContainerMachine& machine) {
  SourceOptions options;
  options.skopeo = machine.skopeo;
  options.curl = machine.curl;
  options.platform = platform_of_machine();
  options.authfile = machine.settings.auth_file;
  options.insecure_registries = machine.settings.insecure_registries;
  for (const std::string& mirror : machine.settings.registry_mirrors) {
    const std::size_t equals = mirror.find('=');
    options.mirrors[mirror.substr(0, equals)].push_back(mirror.substr(equals + 1));
  }
  return options;
}

std::vector<std::string> host_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::vector<std::string> four, six;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const bool is_usable = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_usable || each->ifa_addr == nullptr) continue;
    std::array<char, NI_MAXHOST> text{};
    const bool is_four = each->ifa_addr->sa_family == AF_INET;
    if (!is_four && each->ifa_addr->sa_family != AF_INET6) continue;
    const socklen_t length = is_four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(each->ifa_addr, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    const std::string address = text.data();
    if (is_four && four.empty()) four.push_back(address);
    if (!is_four && six.empty() && address.find('%') == std::string::npos) six.push_back(address);  // of that link only
  }
  freeifaddrs(list);
  four.insert(four.end(), six.begin(), six.end());
  return four;
}

// The program's own architecture: a kernel of 64 bits runs systems of 32. Debian's armhf is for v7; a processor that is
// older is said so by its kernel.
Platform platform_of_machine() {
  Platform platform;
  platform.architecture = seccomp_architecture();
  utsname name{};
  if (platform.architecture == "arm") {
    platform.variant = uname(&name) == 0 && std::string_view(name.machine).starts_with("armv6") ? "v6" : "v7";
  }
  return platform;
}

const std::vector<std::string>& container_features() {
  static const std::vector<std::string> kFeatures{"activeDeadline",
                                                  "configMaps",
                                                  "dnsConfig",
                                                  "emptyDirMedium",
                                                  "emptyDirSizeLimit",
                                                  "fieldRefs/spec.serviceAccountName",
                                                  "fieldRefs/status.hostIP",
                                                  "fieldRefs/status.hostIPs",
                                                  "fieldRefs/status.podIP",
                                                  "fieldRefs/status.podIPs",
                                                  "hostAliases",
                                                  "images",
                                                  "lifecycle",
                                                  "limits",
                                                  "probes",
                                                  "readOnlyMounts",
                                                  "resourceFieldRefs",
                                                  "runtimeClass/container",
                                                  "secrets",
                                                  "securityContext",
                                                  "stopSignals",
                                                  "subPathExprs",
                                                  "volumes/configMap",
                                                  "volumes/downwardAPI",
                                                  "volumes/emptyDir",
                                                  "volumes/ephemeral",
                                                  "volumes/hostPath",
                                                  "volumes/persistentVolumeClaim",
                                                  "volumes/projected",
                                                  "volumes/secret"};
  return kFeatures;
}

}  // namespace berth
