#include "firmware-host/agent/child_limits.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fstream>

namespace berth {

void reset_oom_score() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t written = write(file, "0", 1);
  static_cast<void>(written);
  close(file);
}

int least_oom_score() {
  if (prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) == 1) return -1000;
  std::ifstream file("/proc/self/oom_score_adj");
  int own = 0;
  file >> own;
  return own;
}

void give_up_resources() { prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE); }

}  // namespace berth
