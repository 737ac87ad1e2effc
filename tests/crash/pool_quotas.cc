#include "tests/crash/pool_quotas.h"

#include <sys/stat.h>

#include <filesystem>

#include "core/check.h"
#include "core/random.h"
#include "tests/crash/sqlite_faults.h"

namespace berth::crash {

namespace {

namespace fs = std::filesystem;

ino_t inode_of(int directory) {
  struct stat found{};
  CHECK(fstat(directory, &found) == 0);
  return found.st_ino;
}

ino_t inode_of(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

template <class Map>
auto value_in(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

}  // namespace

void PoolQuotas::reset(bool keeps_limits) {
  keeps_limits_ = keeps_limits;
  projects_.clear();
  limits_.clear();
  unsynced_.clear();
}

void PoolQuotas::lose_power(const Fault& cut) {
  Random random(cut.seed);
  std::size_t lost = cut.fate == Fate::dropped ? unsynced_.size() : 0;
  if (cut.fate == Fate::mixed || cut.fate == Fate::torn) {
    lost = static_cast<std::size_t>(random.next() % (unsynced_.size() + 1));
  }
  for (; lost > 0; --lost) {
    unsynced_.back()();
    unsynced_.pop_back();
  }
  unsynced_.clear();
}

void PoolQuotas::put(const std::string& directory, std::uint32_t project, std::uint64_t limit) {
  projects_[inode_of(directory)] = project;
  limits_[project] = limit;
}

std::uint64_t PoolQuotas::limit_of(const std::string& directory) const {
  const std::uint32_t project = value_in(projects_, inode_of(directory));
  return project == 0 ? 0 : value_in(limits_, project);
}

std::vector<std::uint32_t> PoolQuotas::needless_limits() const {
  std::vector<std::uint32_t> needless;
  for (const auto& [project, limit] : limits_) {
    if (limit > 0 && count(project) == 0) needless.push_back(project);
  }
  return needless;
}

std::uint64_t PoolQuotas::count(std::uint32_t project) const {
  std::uint64_t inodes = 0;
  for (const auto& entry : fs::directory_iterator(root_())) {
    inodes += value_in(projects_, inode_of(entry.path().string())) == project ? 1 : 0;
  }
  return inodes;
}

Status PoolQuotas::change(std::function<void()> carry_out, std::function<void()> take_back) {
  const Answer answer = mounted().change_beside(true, [&] {
    carry_out();
    unsynced_.push_back(std::move(take_back));
  });
  return answer == Answer::ok ? Status::ok() : Status::error("the disk fails");
}

Result<std::uint32_t> PoolQuotas::project(int directory) { return value_in(projects_, inode_of(directory)); }

Status PoolQuotas::set_project(int directory, std::uint32_t project) {
  const ino_t inode = inode_of(directory);
  return change([this, inode, project] { projects_[inode] = project; },
                [this, inode, before = value_in(projects_, inode)] { projects_[inode] = before; });
}

Result<ProjectQuotas::Use> PoolQuotas::use(int /*directory*/, std::uint32_t project) {
  return Use{value_in(limits_, project), count(project)};
}

Status PoolQuotas::set_limit(int /*directory*/, std::uint32_t project, std::uint64_t bytes) {
  if (keeps_limits_ && bytes == 0) return Status::ok();
  return change([this, project, bytes] { limits_[project] = bytes; },
                [this, project, before = value_in(limits_, project)] { limits_[project] = before; });
}

}  // namespace berth::crash
