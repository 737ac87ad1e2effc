#include "firmware-host/gateway/broker.h"

#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <utility>

#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/gateway/memory_budget.h"

namespace berth {

namespace {

constexpr Millis kStopPatience = 2'000;
constexpr Millis kRestartMin = 200;
constexpr Millis kRestartMax = 30'000;
constexpr Millis kProvenAfter = 60'000;  // a broker that ran this long resets the backoff
constexpr std::size_t kLineMax = 1'000;
constexpr std::uint64_t kMemoryMin = 64 << 20;

int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

std::string not_installed(const Status& why) {
  return why.message() + ": install the package mosquitto, or use a running broker with --broker HOST:PORT";
}

}  // namespace

Broker::Broker(asio::io_context& loop, const Clock& clock, Timers& timers, Log& log, BrokerOptions options)
    : loop_(loop), clock_(clock), timers_(timers), log_(log), options_(std::move(options)) {}

Broker::~Broker() { stop(); }

Status Broker::start() {
  if (Status checked = check_identities(options_.identities); !checked.is_success()) return checked;
  Result<std::string> program = find_program(options_.program);
  if (!program) return Status::error(not_installed(program.error()));
  program_ = std::move(*program);
  if (Status made = prepare_directory(); !made.is_success()) return made;
  end_leftover();
  if (Status chosen = choose_ports(); !chosen.is_success()) return chosen;
  if (Status settled = settle_passwords(); !settled.is_success()) return settled;
  if (Status written = write_files(); !written.is_success()) return written;
  return spawn();
}

Status Broker::prepare_directory() {
  if (Status made = make_private_directory(file("")); !made.is_success()) return made;
  return make_private_directory(file("password"));
}

// The kernel kills the broker together with berthd; one is left only where PR_SET_PDEATHSIG does not work, or if
// someone started it by hand with our files.
void Broker::end_leftover() {
  const int pid = number_in(read_line(file("pid")));
  if (pid > 1) kill_marked(pid, file("mosquitto.conf"), kStopPatience);
}

// Reuses the last ports if possible, because agents are configured with them.
Status Broker::choose_ports() {
  Result<int> port = probe_port(options_.port != 0 ? options_.port : number_in(read_line(file("port"))));
  if (!port && options_.port == 0) port = probe_port(0);
  if (!port) return Status::error("broker: " + port.error().message() + ": free the port, or configure another one");
  port_ = *port;
  Result<int> local = probe_port(number_in(read_line(file("local-port"))));
  while (local && *local == port_) local = probe_port(0);
  if (!local) local = probe_port(0);
  if (!local) return Status::error("broker: " + local.error().message());
  local_port_ = *local;
  return Status::ok();
}

Status Broker::settle_passwords() {
  passwords_.clear();
  for (const BrokerIdentity& identity : options_.identities) {
    const std::string path = file("password/" + identity.name);
    std::string password = identity.password.empty() ? read_line(path) : identity.password;
    if (password.empty()) password = random_password();
    if (password != read_line(path)) {
      if (Status written = write_private_file(path, password + "\n"); !written.is_success()) return written;
    }
    passwords_.emplace(identity.name, std::move(password));
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(file("password"), error)) {
    if (!passwords_.contains(entry.path().filename().string())) std::filesystem::remove(entry.path(), error);
  }
  return Status::ok();
}

Status Broker::write_passwords(const std::string& name, bool of_devices) {
  std::string text;
  for (const BrokerIdentity& identity : options_.identities) {
    if ((identity.role == BrokerIdentity::Role::node) != of_devices) continue;
    text.append(identity.name).append(":").append(passwords_.at(identity.name)).append("\n");
  }
  if (Status written = write_private_file(file(name), text); !written.is_success() || text.empty()) return written;
  const Result<std::string> hasher = find_program(options_.password_program);
  if (!hasher) return Status::error(not_installed(hasher.error()));
  return run_program({*hasher, "-U", file(name)});
}

Status Broker::write_files() {
  if (Status written = write_passwords("passwords", true); !written.is_success()) return written;
  if (Status written = write_passwords("operators", false); !written.is_success()) return written;
  std::string gateway;
  for (const BrokerIdentity& identity : options_.identities) {
    if (identity.role == BrokerIdentity::Role::gateway) gateway = identity.name;
  }
  const std::string access = broker_access(options_.fleet, gateway, options_.identities);
  if (Status written = write_private_file(file("access"), access); !written.is_success()) return written;
  const std::uint64_t memory =
      options_.memory_limit != 0 ? options_.memory_limit : std::max(kMemoryMin, memory_of_machine() / 4);
  const std::string config = broker_config({options_.listen, port_, local_port_}, user_name(),
                                           {file("passwords"), file("operators"), file("access")}, memory);
  return write_private_file(file("mosquitto.conf"), config);
}

Status Broker::spawn() {
  restart_ = 0;
  last_line_.clear();
  Result<ChildProcess> child = spawn_child({program_, "-c", file("mosquitto.conf")});
  if (!child) return child.error();
  pid_ = child->pid;
  started_at_ = clock_.now();
  exit_ = std::make_unique<FdWatch>(loop_, child->pidfd, [this] { on_exit(); });
  output_ = std::make_unique<FdWatch>(loop_, child->output_fd, [this] { on_output(); });
  if (Status written = write_private_file(file("pid"), std::to_string(pid_) + "\n"); !written.is_success()) {
    return written;
  }
  for (const auto& [name, port] : {std::pair{"local-port", local_port_}, {"port", port_}}) {
    if (Status written = write_private_file(file(name), std::to_string(port) + "\n"); !written.is_success()) {
      return written;
    }
  }
  log_.write(Level::info, "broker started", {{"port", std::to_string(port_)}, {"pid", std::to_string(pid_)}});
  return Status::ok();
}

void Broker::on_output() {
  if (output_ == nullptr) return;
  char bytes[1024];
  const ssize_t got = ::read(output_->fd(), bytes, sizeof bytes);
  if (got > 0) {
    for (const char c : std::string_view(bytes, static_cast<std::size_t>(got))) {
      if (c == '\n') {
        end_line();
      } else if (line_.size() < kLineMax) {
        line_ += c;
      }
    }
  } else if (got == 0) {
    output_.reset();
  }
}

void Broker::end_line() {
  const bool is_error = line_.starts_with("Error");
  log_.write(is_error ? Level::warn : Level::debug, "broker output", {{"text", line_}});
  if (is_error) last_line_ = line_;
  line_.clear();
}

void Broker::on_exit() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
  // Its last output may still be in the pipe.
  for (int i = 0; i < 8 && output_ != nullptr; ++i) on_output();
  pid_ = 0;
  output_.reset();
  if (clock_.now() - started_at_ >= kProvenAfter) failures_ = 0;
  schedule_restart(describe_exit(status) + (last_line_.empty() ? "" : ": " + last_line_));
  exit_.reset();
}

void Broker::schedule_restart(const std::string& why) {
  const Millis delay = std::min(kRestartMax, kRestartMin << std::min(failures_++, 10));
  log_.write(Level::error, "broker exited, restarting it", {{"reason", why}, {"in_ms", std::to_string(delay)}});
  restart_ = timers_.at(clock_.now() + delay, [this] {
    const Status spawned = spawn();
    if (!spawned.is_success() && pid_ == 0) schedule_restart(spawned.message());
  });
}

void Broker::stop() {
  timers_.cancel(restart_);
  if (pid_ == 0) return;
  ::kill(pid_, SIGTERM);
  if (!wait_for_exit(exit_->fd(), kStopPatience)) ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
  output_.reset();
  exit_.reset();
  ::unlink(file("pid").c_str());
}

}  // namespace berth
