#include "firmware-host/agent/processes/process_place.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "core/json/members.h"

namespace berth {

namespace {

constexpr unsigned kMostCapabilities = 64;

bool write_all(int file, const char* text, std::size_t length) {
  return write(file, text, length) == static_cast<ssize_t>(length);
}

// Should the kernel refuse, the process runs with the keeper's, as reset_oom_score().
void set_oom_score(const std::string& score) {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const bool is_set = write_all(file, score.data(), score.size());
  static_cast<void>(is_set);
  close(file);
}

// Nobody inherits what a file does not give (CVE-2022-24769: OCI runtimes leave this set empty since).
bool inherit_nothing() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return false;
  for (__user_cap_data_struct& set : sets) set.inheritable = 0;
  return syscall(SYS_capset, &header, sets.data()) == 0 &&
         prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0;
}

}  // namespace

bool join_place(const ProcessPlace& place) {
  for (const Descriptor& group : place.groups) {
    if (!write_all(group.get(), "0", 1)) return false;
  }
  set_oom_score(place.identity.oom_score_adj);
  return setns(place.mounts, CLONE_NEWNS) == 0;
}

// What root may do after exec is the bounding set (capabilities(7)); who is not root has lost all with setresuid(2).
bool take_identity(const ProcessIdentity& identity) {
  for (unsigned number = 0; number < kMostCapabilities; ++number) {
    if ((identity.capabilities >> number & 1) == 0 && prctl(PR_CAPBSET_READ, number) == 1 &&
        prctl(PR_CAPBSET_DROP, number) != 0) {
      return false;
    }
  }
  const UserIds& user = identity.user;
  static_assert(sizeof(gid_t) == sizeof(std::uint32_t));
  return inherit_nothing() && setgroups(user.more_groups.size(), user.more_groups.data()) == 0 &&
         setresgid(user.group, user.group, user.group) == 0 && setresuid(user.user, user.user, user.user) == 0 &&
         (!identity.no_new_privileges || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

std::string_view RunRecord::search_path() const {
  constexpr std::string_view kName = "PATH=";
  for (const std::string_view variable : env) {
    if (variable.starts_with(kName)) return variable.substr(kName.size());
  }
  return {};
}

std::int64_t inode_of(int file) {
  struct stat found{};
  return fstat(file, &found) == 0 ? static_cast<std::int64_t>(found.st_ino) : 0;
}

std::string to_text(const RunRecord& record) {
  Json groups = Json::array();
  for (const std::uint32_t group : record.identity.user.more_groups) groups.push_back(std::int64_t{group});
  Json env = Json::array();
  for (const std::string& variable : record.env) env.push_back(variable);
  Json json = Json::object();
  json.set("mounts", std::int64_t{record.mounts})
      .set("mountsInode", record.mounts_inode)
      .set("user", std::int64_t{record.identity.user.user})
      .set("group", std::int64_t{record.identity.user.group})
      .set("groups", std::move(groups))
      .set("capabilities", std::to_string(record.identity.capabilities))
      .set("noNewPrivileges", record.identity.no_new_privileges)
      .set("oomScoreAdj", record.identity.oom_score_adj)
      .set("env", std::move(env))
      .set("directory", record.directory);
  return json.dump();
}

Result<RunRecord> parse_run_record(const std::string& text) {
  const Result<Json> json = Json::parse(text);
  if (!json) return json.error();
  for (const char* field : {"mounts", "mountsInode", "user", "group"}) {
    if (!member(*json, field).is_integer()) return Status::error(std::string(field) + ": missing");
  }
  RunRecord record;
  record.mounts = static_cast<int>(member(*json, "mounts").as_int());
  record.mounts_inode = member(*json, "mountsInode").as_int();
  record.identity.user.user = static_cast<std::uint32_t>(member(*json, "user").as_int());
  record.identity.user.group = static_cast<std::uint32_t>(member(*json, "group").as_int());
  for (const Json& group : list_of(*json, "groups")) {
    if (group.is_integer()) record.identity.user.more_groups.push_back(static_cast<std::uint32_t>(group.as_int()));
  }
  for (const char digit : json->string_at("capabilities")) {
    if (digit < '0' || digit > '9') return Status::error("capabilities: must be a number");
    record.identity.capabilities = record.identity.capabilities * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  record.identity.no_new_privileges = member(*json, "noNewPrivileges") == Json(true);
  record.identity.oom_score_adj = json->string_at("oomScoreAdj");
  for (const Json& variable : list_of(*json, "env")) record.env.push_back(variable.as_string());
  record.directory = json->string_at("directory");
  return record;
}

}  // namespace berth
