// ContainerMachine: what this machine has to run containers with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/api/quantity.h"
#include "core/status.h"
#include "firmware-host/agent/images/image_source.h"
#include "firmware-host/container_settings.h"

namespace berth {

inline constexpr const char* kDefaultSeccomp = "/usr/share/containers/seccomp.json";  // of RuntimeDefault

struct ContainerMachine {
  std::string runtime;  // path of crun or runc
  std::string skopeo;   // path
  std::string curl;     // path; empty: it is not installed
  ContainerSettings settings;
  std::int64_t memory_bytes = 0;  // of the node
  ResourceList allocatable;       // of the node
  bool limits_memory = true;      // its kernel has the memory controller
};

// The addresses by which others reach it, as status.hostIPs: of its first interface that has any, IPv4 first.
std::vector<std::string> host_addresses();

// An error says what is missing, and how to have it. `search_path`: as of PATH.
Result<ContainerMachine> find_container_machine(const ContainerSettings& settings, const std::string& search_path);

// Where its images come from.
SourceOptions source_options_of(const ContainerMachine& machine);

// What images are to be made for to run here.
Platform platform_of_machine();

// What it can do (core/api/features.h), sorted.
const std::vector<std::string>& container_features();

}  // namespace berth
