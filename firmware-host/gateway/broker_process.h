// System functions for supervising the broker: programs, child processes, ports, private files.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"

namespace berth {

// Path of an executable in PATH, /usr/local/sbin, /usr/sbin or /sbin; `name` itself if it contains a slash.
Result<std::string> find_program(const std::string& name);

struct ChildProcess {
  pid_t pid = 0;
  int pidfd = -1;      // readable once it exits; the caller closes both descriptors
  int output_fd = -1;  // its standard error, non-blocking
};
// Starts a program that is killed when this process ends. It inherits only /dev/null and the pipe.
Result<ChildProcess> spawn_child(const std::vector<std::string>& argv);
// Runs a program and waits for it. An error includes the last line of its output.
Status run_program(const std::vector<std::string>& argv);
// Kills a process that is not our child, if its command line has `mark` as an argument, and waits for its exit.
void kill_marked(pid_t pid, const std::string& mark, Millis patience);
// Sends a signal to a process that is not our child, if its command line has `mark` as an argument. False: it has not.
bool signal_marked(pid_t pid, const std::string& mark, int signal);
// Waits for a child to exit; false if it is still running after `patience`.
bool wait_for_exit(int pidfd, Millis patience);
// "exit code 1", "signal 9".
std::string describe_exit(int wait_status);

// Checks that a loopback port is free now. 0: any. Returns the port.
Result<int> probe_port(int port);

// Replaces the file atomically; mode 0600.
Status write_private_file(const std::string& path, const std::string& text);
// Mode 0700.
Status make_private_directory(const std::string& path);
// The first line; empty if the file does not exist.
std::string read_line(const std::string& path);
std::string random_password();

}  // namespace berth
