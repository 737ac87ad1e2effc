#include "firmware-host/agent/volumes/volume_make.h"
#include "firmware-host/agent/descriptor.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/volumes/atomic_directory.h"

namespace berth {

namespace {

// Two states of the largest payload, and what directories take.
constexpr std::int64_t kProjectedBytes = 3 * static_cast<std::int64_t>(kMostPayloadBytes);

Status not_made(const std::string& what, const std::string& path) {
  return Status::error(what + " " + path + ": " + std::strerror(errno));
}

// Complete from the moment it has its name on: one that is there is the container's, whatever it has made of its mode.
Status make_own_directory(const std::string& path, mode_t mode) {
  struct stat found{};
  if (lstat(path.c_str(), &found) == 0) {
    return S_ISDIR(found.st_mode) ? Status::ok() : Status::error(path + " is no directory");
  }
  const std::string parent = path.substr(0, path.rfind('/'));
  if (mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) return not_made("cannot make directory", parent);
  const std::string fresh = path + ".new";
  if (mkdir(fresh.c_str(), mode) != 0 && errno != EEXIST) return not_made("cannot make directory", fresh);
  const bool is_made = chmod(fresh.c_str(), mode) == 0 && std::rename(fresh.c_str(), path.c_str()) == 0;
  return is_made ? Status::ok() : not_made("cannot make directory", path);
}

bool is_in_memory(const std::string& path) {
  struct stat own{};
  struct stat parent{};
  struct statfs system{};
  return statfs(path.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC && stat(path.c_str(), &own) == 0 &&
         stat((path + "/..").c_str(), &parent) == 0 && own.st_dev != parent.st_dev;
}

Status mount_memory(const std::string& path, std::int64_t bytes, unsigned long flags) {
  if (Status made = make_own_directory(path, 0777); !made.is_success()) return made;
  if (is_in_memory(path)) return Status::ok();
  std::string options = "mode=0777";
  if (bytes > 0) options += ",size=" + std::to_string(bytes);
  // Secrets must not get to a disk by swapping; kernels before 6.4 do not know the option.
  for (const std::string& each : {options + ",noswap", options}) {
    if (mount("tmpfs", path.c_str(), "tmpfs", flags, each.c_str()) == 0) return Status::ok();
    if (errno != EINVAL) break;
  }
  return not_made("cannot mount memory at", path);
}

std::optional<gid_t> group_of(const VolumePlan& volume) {
  return volume.group ? std::optional<gid_t>(volume.group->group) : std::nullopt;
}

Status show(const PodFacts& facts, const PodObjects& objects, const VolumePlan& volume) {
  const Result<Payload> payload = project(facts, objects, volume.projection);
  if (!payload) return payload.error();
  const Result<bool> written = write_payload(volume.path, *payload, group_of(volume));
  return written ? Status::ok() : written.error();
}

Status give(const VolumePlan& volume) {
  return volume.group ? set_volume_group(volume.path, *volume.group) : Status::ok();
}

Status make_projected(const PodFacts& facts, const PodObjects& objects, const VolumePlan& volume) {
  Status made = mount_memory(volume.path, kProjectedBytes, MS_NOSUID | MS_NODEV);
  if (made.is_success() && volume.group &&
      (chown(volume.path.c_str(), static_cast<uid_t>(-1), volume.group->group) != 0 ||
       chmod(volume.path.c_str(), 02777) != 0)) {
    made = not_made("fsGroup: cannot change", volume.path);
  }
  return made.is_success() ? show(facts, objects, volume) : made;
}

// What has no type is made as by containerd (internal/cri/opts, WithMounts), a file as by the kubelet
// (pkg/volume/hostpath, makeFile).
Status make_node_path(const PodFacts& facts, const VolumePlan& volume) {
  struct stat found{};
  if (stat(volume.path.c_str(), &found) == 0) return find_node_path({volume.path, volume.type}, facts.node);
  if (volume.type == "FileOrCreate") {
    const Descriptor file(open(volume.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  } else if (volume.type == "DirectoryOrCreate" || volume.type.empty()) {
    if (Status made = make_node_directory(volume.path); !made.is_success()) return made;
  }
  return find_node_path({volume.path, volume.type}, facts.node);
}

Status make_volume(const PodFacts& facts, const PodObjects& objects, const VolumePlan& volume) {
  Status made = Status::ok();
  switch (volume.kind) {
    case VolumePlan::Kind::empty_dir: made = make_own_directory(volume.path, 0777); break;
    case VolumePlan::Kind::memory: made = mount_memory(volume.path, volume.size_limit, 0); break;
    case VolumePlan::Kind::bound: break;
    case VolumePlan::Kind::node_path: return make_node_path(facts, volume);
    case VolumePlan::Kind::projected: return make_projected(facts, objects, volume);
  }
  return made.is_success() ? give(volume) : made;
}

// operationexecutor: the event FailedMount
Status about(const VolumePlan& volume, const Status& failed) {
  return {failed.code(), "MountVolume.SetUp failed for volume \"" + volume.name + "\" : " + failed.message()};
}

}  // namespace

Status make_volumes(const PodFacts& facts, const PodObjects& objects, const std::vector<VolumePlan>& volumes) {
  for (const VolumePlan& volume : volumes) {
    if (const Status made = make_volume(facts, objects, volume); !made.is_success()) return about(volume, made);
  }
  return Status::ok();
}

Status update_volumes(const PodFacts& facts, const PodObjects& objects, const std::vector<VolumePlan>& volumes) {
  Status first = Status::ok();
  for (const VolumePlan& volume : volumes) {
    if (volume.kind != VolumePlan::Kind::projected) continue;
    const Status shown = show(facts, objects, volume);
    if (!shown.is_success() && first.is_success()) first = about(volume, shown);
  }
  return first;
}

}  // namespace berth
