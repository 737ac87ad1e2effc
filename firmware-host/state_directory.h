// The identity files of a machine, and the state directory of a program.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"
#include "firmware-host/real_clock.h"

namespace berth {

// First line of a file, without leading and trailing white space; an error names the file.
Result<std::string> read_first_line(const std::string& path);
// The first line of a file of the machine, without a terminating zero; empty if there is no such file, or it is empty.
Result<std::string> read_if_any(const std::string& path);
// The id of the installation.
inline constexpr const char* kMachineIdFile = "/etc/machine-id";
// The serial number of the board, where the boot loader tells it.
inline constexpr const char* kHardwareSerialFile = "/sys/firmware/devicetree/base/serial-number";
// In the gateway's state directory: it was made for a new installation, and has had no store so far.
inline constexpr const char* kNewInstallation = "new";
// The kernel's id of the current boot.
Result<std::string> boot_id();

// The state directory, locked while this object exists: a second program is refused.
class StateDirectory {
 public:
  static constexpr Millis kLockPatience = 6'000;  // a killed process may first finish a sync, 5 s on an SD card
  using Pause = std::function<void(Millis)>;
  // Creates the directory (mode 0750) and locks it. Waits up to kLockPatience, because a killed predecessor, or its
  // child about to become a keeper, may still be exiting. Code::unschedulable: another process holds the lock.
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
