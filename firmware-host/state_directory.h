// What a program finds on its machine: identity files, and its own directory of state.
#pragma once

#include <string>

#include "core/status.h"

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
  // Makes the directory (mode 0750) and locks it. Code::unschedulable: another process has it.
  static Result<StateDirectory> open(const std::string& path);
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
