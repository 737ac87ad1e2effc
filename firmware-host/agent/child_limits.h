// What a process that the agent starts for a pod does not take over from it. Usable between vfork(2) and exec.
#pragma once

namespace berth {

// What protects the agent from the kernel's out-of-memory killer is not for what it starts: 0 is what a process has
// that nobody set anything for. Should the kernel refuse, the process runs with the agent's.
void reset_oom_score();

// The least oom_score_adj that this process may give to a child: only who has CAP_SYS_RESOURCE may protect a process
// more than itself (proc(5), oom_score_adj). Not between vfork(2) and exec.
int least_oom_score();

// Who has CAP_SYS_RESOURCE writes beyond any quota of ext4, so no container has it, as with Docker and containerd. An
// agent that may not take it away is no root, and neither are its containers.
void give_up_resources();

}  // namespace berth
