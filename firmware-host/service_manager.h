// ServiceManager: notifies systemd that the program is ready, alive and stopping (sd_notify(3)), over the datagram
// socket in NOTIFY_SOCKET. Without that variable every call does nothing.
//
// The watchdog is notified at the end of a turn, that is, only if the loop runs and the commit has returned: systemd
// restarts a program that hangs in either.
#pragma once

#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/timers.h"

namespace berth {

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment: no child may notify on
  // behalf of this process. Both arguments must outlive it.
  ServiceManager(const Clock& clock, Timers& timers);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // Start-up is complete. `status` is one line for `systemctl status`.
  void ready(std::string_view status);
  void stopping();
  // A turn ended without an error.
  void turn_ended();

 private:
  void send(const std::string& text) const;
  void arm();

  const Clock& clock_;
  Timers& timers_;
  int socket_ = -1;
  std::string address_;  // as in NOTIFY_SOCKET; "@name" is an abstract socket
  Millis interval_ = 0;  // between two notifications; 0: no watchdog
  Millis last_feed_ = 0;
  Timers::Id timer_ = 0;  // causes a turn while the program is idle
};

}  // namespace berth
