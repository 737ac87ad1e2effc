// What a program finds on its machine: identity files, and its own directory of state.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"
#include "firmware-host/real_clock.h"

namespace berth {

// First line of a file, without white space at its ends; an error names the file.
Result<std::string> read_first_line(const std::string& path);
// /etc/machine-id; empty where there is none.
std::string machine_id();
// Of this boot of the kernel.
Result<std::string> boot_id();

// The directory of state, ours alone while this lives: a second program on it is refused.
class StateDirectory {
 public:
  static constexpr Millis kLockPatience = 6'000;  // a sync of an SD card takes 5 s, and a killed process ends after it
  using Pause = std::function<void(Millis)>;
  // Makes the directory (mode 0750) and locks it. One that was killed, or its child about to become a keeper, may still
  // be ending: the lock is waited for, at a start, up to kLockPatience. Code::unschedulable: another process has it.
  static Result<StateDirectory> open(const std::string& path, const Pause& pause = pause_for);
  StateDirectory(StateDirectory&& other) noexcept;
  StateDirectory& operator=(StateDirectory&&) = delete;
  ~StateDirectory();

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  StateDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;
};

}  // namespace berth
