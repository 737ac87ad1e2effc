// How much a volume may hold: its directory gets a project of its own (project_quotas.h), with a hard limit. Which
// project a volume has, its directory alone says, so there is nothing to lose or to disagree with; the first that
// nobody uses is taken, from one on that the volume's name tells.
#pragma once

#include <cstdint>
#include <string_view>

#include "firmware-host/agent/project_quotas.h"

namespace berth {

// The projects that are given to volumes. Others belong to somebody else, and are never touched.
inline constexpr std::uint32_t kFirstProject = 0x42000000;
inline constexpr std::uint32_t kProjects = 1U << 24;

// All take the volume's open directory.
// Gives it a project, if it has none yet. It is empty, since what is in it would stay without one.
Status give_project(ProjectQuotas& quotas, int directory, std::string_view volume);
// Whether it has one.
Result<bool> has_project(ProjectQuotas& quotas, int directory);
// Sets the limit of its project, where it is another one. Durable with the next sync of anything in that file system.
Status limit_project(ProjectQuotas& quotas, int directory, std::int64_t bytes);
// No limit is left of its project, if it has one. True: there was one.
Result<bool> end_limit(ProjectQuotas& quotas, int directory);

}  // namespace berth
