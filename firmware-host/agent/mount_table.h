// What is mounted where: /proc/self/mountinfo (proc_pid_mountinfo(5)).
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

// Whether `table`, the text of a mountinfo file, has something mounted at `path`: absolute, without symbolic links.
bool has_mount(std::string_view table, std::string_view path);

// What is mounted from the device of these numbers, as `table` names it: "/dev/sda1". Empty: nothing.
std::string device_in(std::string_view table, unsigned major, unsigned minor);
// The same, now.
std::string mounted_device(unsigned major, unsigned minor);

// Whether something is mounted at the directory, which must exist; symbolic links are followed. An error: this cannot
// be told now.
Result<bool> is_mount_point(const std::string& directory);

}  // namespace berth
