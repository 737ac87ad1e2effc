// The end of what a container wrote, for its status (terminationMessagePolicy: FallbackToLogsOnError).
#pragma once

#include <string>

namespace berth {

// The last lines of this run's log without their times, at most 80 of them and 2048 bytes (pkg/kubelet/kuberuntime:
// MaxContainerTerminationMessageLogLines, MaxContainerTerminationMessageLogLength). `path`: of its newest file.
std::string log_end_of(const std::string& path);

}  // namespace berth
