// ServiceManager: tells systemd that the program is ready, alive and ending (sd_notify(3)), over the datagram socket
// that NOTIFY_SOCKET names. Without one every call does nothing.
//
// The watchdog is fed at the end of a turn, so only by a loop that turns and a commit that came back: a program that
// hangs in either is started again.
#pragma once

#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/timers.h"

namespace berth {

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment: no child may speak for
  // this process. Both arguments outlive it.
  ServiceManager(const Clock& clock, Timers& timers);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // Everything that start-up wants is done. `status` is one line for `systemctl status`.
  void ready(std::string_view status);
  void stopping();
  // A turn ended well.
  void turn_ended();

 private:
  void send(const std::string& text) const;
  void arm();

  const Clock& clock_;
  Timers& timers_;
  int socket_ = -1;
  std::string address_;  // as in NOTIFY_SOCKET; "@name" is an abstract one
  Millis interval_ = 0;  // between two feeds; 0: no watchdog
  Millis last_feed_ = 0;
  Timers::Id timer_ = 0;  // makes a turn where nothing else does
};

}  // namespace berth
