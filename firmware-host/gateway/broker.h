// Broker: berthd's embedded mosquitto, a child process: restarted when it exits, and ended when berthd ends, however
// that happens.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "core/status.h"
#include "core/timers.h"
#include "firmware-host/fd_watch.h"
#include "firmware-host/gateway/broker_config.h"

namespace asio {
class io_context;
}

namespace berth {

struct BrokerOptions {
  std::string state_dir;  // must exist; two brokers must not share one
  std::string fleet;
  std::vector<BrokerIdentity> identities;
  std::string listen = "127.0.0.1";  // address of this machine, for devices; 0.0.0.0: all. Beyond loopback: TLS
  int port = 0;                      // 0: that of the last run if free, otherwise any free port
  int certificate_port = 0;          // devices with certificates, beyond loopback only; 0: as above
  std::vector<std::string> names;    // that devices call this machine by, beside those it knows itself
  // `port` beyond loopback without TLS. Unset: if it was so before, with a warning.
  std::optional<bool> insecure_plaintext;
  std::uint64_t memory_limit = 0;     // bytes; 0: a quarter of the machine's memory, at least 64 MiB
  std::string program = "mosquitto";  // looked up in PATH and the sbin directories, unless it contains a slash
  std::string password_program = "mosquitto_passwd";
};

// Writes files for clients, with mode 0600: <state>/broker/port (for devices), certificate-port (for devices with
// certificates; absent: none), local-port (for gateway and operators, on loopback) and password/<identity>; beyond
// loopback tls/, with its authority. Accounts that `berthctl enroll` added to its files stay there.
class Broker {
 public:
  // All references must outlive the broker.
  Broker(asio::io_context& loop, const Clock& clock, Timers& timers, Log& log, BrokerOptions options);
  ~Broker();  // calls stop()
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // Writes its files and starts it. Blocks for some milliseconds. An error (no mosquitto, port in use, directory not
  // writable) names the fix. A broker left over from a killed berthd is killed first.
  Status start();
  // SIGTERM, and SIGKILL two seconds later; waits for the exit.
  void stop();

  // Names of all accounts of nodes. Valid after start().
  std::vector<std::string> nodes() const;

  // Why devices refuse its certificate, and berthd cannot mend that; empty: nothing is known.
  const std::string& certificate_problem() const { return certificate_problem_; }

  // Valid after start().
  int port() const { return port_; }
  int local_port() const { return local_port_; }
  const std::string& password(const std::string& identity) const { return passwords_.at(identity); }
  pid_t pid() const { return pid_; }  // 0 while it is not running

 private:
  Status prepare_directory();
  Status settle_passwords();
  void take_enrolled();
  Status write_passwords(const std::string& name, bool of_devices);
  Status settle_tls();
  void renew_certificate();
  bool mend_revocations();
  void watch_clock();
  void judge_authority();
  Status write_files();
  Status choose_ports();
  void end_leftover();
  Status spawn();
  void on_exit();
  void schedule_restart(const std::string& why);
  void on_output();
  void end_line();
  std::string file(const std::string& name) const { return options_.state_dir + "/broker/" + name; }

  asio::io_context& loop_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  BrokerOptions options_;
  std::string program_;
  std::map<std::string, std::string> passwords_;  // by identity
  int port_ = 0;
  int certificate_port_ = 0;  // 0: none
  int local_port_ = 0;
  bool is_plaintext_ = true;
  pid_t pid_ = 0;
  std::unique_ptr<FdWatch> exit_;    // its pidfd
  std::unique_ptr<FdWatch> output_;  // its standard error
  std::string line_, last_line_;
  Millis started_at_ = 0;
  int failures_ = 0;
  Timers::Id restart_ = 0;
  Timers::Id renewal_ = 0;
  Timers::Id clock_watch_ = 0;
  Millis clock_offset_ = 0;  // of the wall clock, when the certificates were looked at last
  std::string certificate_problem_;
};

}  // namespace berth
