// ProcessPlace: where a process of a sandboxed pod is to be: its control group, its mounts, and who it is there. The
// same for its first process and for a command in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/oci/image_user.h"

namespace berth {

struct ProcessIdentity {
  UserIds user;
  std::uint64_t capabilities = 0;  // a bit each; root has them, others can have them by files alone
  bool no_new_privileges = false;
  std::string oom_score_adj = "0";
};

struct ProcessPlace {
  std::vector<Descriptor> groups;  // PodCgroup::open_members()
  int mounts = -1;                 // a mount namespace, as of /proc/<pid>/ns/mnt; the owner is another one
  ProcessIdentity identity;
};

// Between vfork(2) and exec, one after the other; errno says why it fails. In between the caller goes to its working
// directory, which the user may not be able to reach.
bool join_place(const ProcessPlace& place);
bool take_identity(const ProcessIdentity& identity);

// What the agent, another process, needs to run a command in a container of a keeper.
struct RunRecord {
  int mounts = -1;                // the number of the keeper's descriptor
  std::int64_t mounts_inode = 0;  // of the namespace: the number may be another file's by now
  ProcessIdentity identity;
  std::vector<std::string> env;  // "NAME=value"
  std::string directory;
  std::string_view search_path() const;  // PATH of env
};

// Zero: it is not open.
std::int64_t inode_of(int file);

// Texts with what Secrets may have put into the environment: for memory alone. An error: it is no such text.
std::string to_text(const RunRecord& record);
Result<RunRecord> parse_run_record(const std::string& text);

}  // namespace berth
