#include "firmware-host/agent/volume_limits.h"

#include <algorithm>

#include "core/hash.h"

namespace berth {

namespace {

constexpr std::uint32_t kTries = 64;

bool is_for_volumes(std::uint32_t project) { return project >= kFirstProject && project - kFirstProject < kProjects; }

// The project that is tried after `tries` others.
std::uint32_t candidate(std::string_view volume, std::uint32_t tries) {
  return kFirstProject + static_cast<std::uint32_t>((hash_of(volume) + tries) % kProjects);
}

std::uint64_t in_blocks(std::int64_t bytes) {
  constexpr std::uint64_t kUnit = ProjectQuotas::kUnit;
  return (static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1)) + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

Result<bool> has_project(ProjectQuotas& quotas, int directory) {
  const Result<std::uint32_t> project = quotas.project(directory);
  if (!project) return project.error();
  return is_for_volumes(*project);
}

Status give_project(ProjectQuotas& quotas, int directory, std::string_view volume) {
  const Result<bool> has_one = has_project(quotas, directory);
  if (!has_one) return has_one.error();
  if (*has_one) return Status::ok();
  for (std::uint32_t tries = 0; tries < kTries; ++tries) {
    const std::uint32_t project = candidate(volume, tries);
    const Result<ProjectQuotas::Use> before = quotas.use(directory, project);
    if (!before) return before.error();
    if (before->inodes > 0 || before->limit > 0) continue;
    if (Status given = quotas.set_project(directory, project); !given.is_success()) return given;
    // Another agent with a pool on this disk may have taken it at the same moment.
    const Result<ProjectQuotas::Use> after = quotas.use(directory, project);
    if (!after) return after.error();
    if (after->inodes == 1) return Status::ok();
  }
  return Status::error("no free project among " + std::to_string(kTries));
}

Status limit_project(ProjectQuotas& quotas, int directory, std::int64_t bytes) {
  const Result<std::uint32_t> project = quotas.project(directory);
  if (!project) return project.error();
  const Result<ProjectQuotas::Use> now = quotas.use(directory, *project);
  if (!now) return now.error();
  return now->limit == in_blocks(bytes) ? Status::ok() : quotas.set_limit(directory, *project, in_blocks(bytes));
}

Result<bool> end_limit(ProjectQuotas& quotas, int directory) {
  const Result<std::uint32_t> project = quotas.project(directory);
  if (!project || !is_for_volumes(*project)) return false;
  const Result<ProjectQuotas::Use> now = quotas.use(directory, *project);
  if (!now) return now.error();
  if (now->limit == 0) return false;
  if (Status ended = quotas.set_limit(directory, *project, 0); !ended.is_success()) return ended;
  return true;
}

}  // namespace berth
