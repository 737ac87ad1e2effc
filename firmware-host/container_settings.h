// ContainerSettings: the section `containers` of berth-agent's configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

// containers: {runtime, skopeo, curl, cni_config_dir, cni_plugin_dirs, resolv_conf, seccomp_dir, pids_limit,
// allowed_unsafe_sysctls, image_high_percent, image_low_percent, insecure_registries, registry_mirrors,
// image_bytes_per_day, auth_file, bwrap}: the programs that run pods with images, and where these come from.
struct ContainerSettings {
  static constexpr const char* kAutomatic = "auto";
  static constexpr const char* kNone = "none";
  static constexpr const char* kResolvConf = "/etc/resolv.conf";
  std::string runtime = kAutomatic;  // or a program: crun, runc or the path of one
  std::string skopeo = "skopeo";
  std::string curl = "curl";
  std::string cni_config_dir = "/etc/cni/net.d";
  std::vector<std::string> cni_plugin_dirs = {"/usr/lib/cni", "/opt/cni/bin"};
  std::string resolv_conf = kResolvConf;                     // what pods look names up by, resolv.conf(5)
  std::string seccomp_dir = "/var/lib/berth-agent/seccomp";  // of localhostProfile
  std::vector<std::string> allowed_unsafe_sysctls;           // names, or their beginnings with '*'
  std::int64_t pids_limit = 4096;                            // processes of a container; 0: no limit
  std::int32_t image_high_percent = 85;                      // of their disk: above, unused images are removed
  std::int32_t image_low_percent = 80;                       // until no more is used
  std::vector<std::string> insecure_registries;              // "host:port"
  std::vector<std::string> registry_mirrors;                 // "REGISTRY=HOST:PORT"
  std::int64_t image_bytes_per_day = 0;                      // that are fetched; 0: no limit
  std::string auth_file;                                     // containers-auth.json(5); empty: none
  std::string bwrap = kAutomatic;                            // of pods without images; a program or its path
  bool operator==(const ContainerSettings&) const = default;
};

}  // namespace berth
