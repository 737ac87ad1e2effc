#include "firmware-host/gateway/broker.h"

#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "firmware-host/gateway/broker_accounts.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/gateway/broker_tls.h"
#include "firmware-host/gateway/memory_budget.h"
#include "firmware-host/loopback_address.h"

namespace berth {

namespace {

constexpr Millis kStopPatience = 2'000;
constexpr Millis kRestartMin = 200;
constexpr Millis kRestartMax = 30'000;
constexpr Millis kProvenAfter = 60'000;  // a broker that ran this long resets the backoff
constexpr Millis kRenewalEvery = 24 * 3600 * 1'000;
constexpr Millis kClockLookEvery = 30'000;
constexpr Millis kClockJump = 60'000;  // less is put right gradually, or does no harm
constexpr std::size_t kLineMax = 1'000;
constexpr std::uint64_t kMemoryMin = 64 << 20;

int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Empty if there is no such file.
std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : std::string();
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
  if (Status settled = settle_tls(); !settled.is_success()) return settled;
  if (Status chosen = choose_ports(); !chosen.is_success()) return chosen;
  take_enrolled();
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

// A name that is configured is not enrolled any more: the configuration tells its password.
void Broker::take_enrolled() {
  const std::vector<BrokerIdentity> configured = options_.identities;
  for (BrokerIdentity& identity : enrolled_in(content_of(file("access")))) {
    const bool is_configured = std::any_of(configured.begin(), configured.end(),
                                           [&](const BrokerIdentity& each) { return each.name == identity.name; });
    if (!is_configured) options_.identities.push_back(std::move(identity));
  }
}

std::vector<std::string> Broker::nodes() const {
  std::vector<std::string> names;
  for (const BrokerIdentity& identity : options_.identities) {
    if (identity.role == BrokerIdentity::Role::node) names.push_back(identity.name);
  }
  return names;
}

Status Broker::settle_tls() {
  if (is_loopback(options_.listen)) return Status::ok();
  const bool was_plaintext = served_plaintext(content_of(file("mosquitto.conf")));
  is_plaintext_ = options_.insecure_plaintext.value_or(was_plaintext);
  if (is_plaintext_) {
    log_.write(Level::warn, "devices connect without encryption: passwords and pods can be read and changed on the way",
               {{"listen", options_.listen},
                {"fix", "enroll devices again (berthctl enroll NAME --replace --state-dir " + options_.state_dir +
                            "), then set embedded_broker.insecure_plaintext: false"}});
  }
  const Result<bool> settled = settle_server_certificate(file("tls"), names_of_machine(options_.names));
  if (!settled) return settled.error();
  if (*settled) log_.write(Level::info, "the broker has a new certificate", {});
  mend_revocations();
  judge_authority();
  clock_offset_ = clock_.wall() - clock_.now();
  renewal_ = timers_.at(clock_.now() + kRenewalEvery, [this] { renew_certificate(); });
  clock_watch_ = timers_.at(clock_.now() + kClockLookEvery, [this] { watch_clock(); });
  return Status::ok();
}

// What was made while the clock was wrong is of no use once it is right.
void Broker::watch_clock() {
  clock_watch_ = timers_.at(clock_.now() + kClockLookEvery, [this] { watch_clock(); });
  const Millis offset = clock_.wall() - clock_.now();
  if (std::abs(offset - clock_offset_) < kClockJump) return;
  clock_offset_ = offset;
  log_.write(Level::info, "the clock was set; looking at the certificates", {});
  timers_.cancel(renewal_);
  renew_certificate();
}

void Broker::judge_authority() {
  std::string problem = problem_of_authority(file("tls"));
  if (!problem.empty() && problem != certificate_problem_) {
    log_.write(Level::error, "devices do not accept the broker's certificate", {{"why", problem}});
  }
  certificate_problem_ = std::move(problem);
}

void Broker::renew_certificate() {
  renewal_ = timers_.at(clock_.now() + kRenewalEvery, [this] { renew_certificate(); });
  judge_authority();
  const Result<bool> renewed = settle_server_certificate(file("tls"), names_of_machine(options_.names));
  if (!renewed) {
    log_.write(Level::error, "cannot renew the broker's certificate", {{"error", renewed.error().message()}});
  } else if (*renewed) {
    log_.write(Level::info, "the broker has a new certificate", {});
    if (pid_ != 0) ::kill(pid_, SIGHUP);  // sessions go on
  }
  // It keeps earlier lists when it reads a new one, and the latest that is valid counts: that one, once its time comes.
  if (mend_revocations() && pid_ != 0) ::kill(pid_, SIGTERM);
}

// True: the list is another one.
bool Broker::mend_revocations() {
  const Result<bool> mended = settle_revocations(file("tls"));
  if (!mended) {
    log_.write(Level::error, "cannot write the list of revoked certificates", {{"error", mended.error().message()}});
  } else if (*mended) {
    log_.write(Level::warn, "the list of revoked certificates was made while the clock was ahead; it is valid now", {});
  }
  return mended && *mended;
}

// Reuses the last ports if possible, because agents are configured with them.
Status Broker::choose_ports() {
  const auto choose = [this](int configured, const char* name) {
    Result<int> port = probe_port(configured != 0 ? configured : number_in(read_line(file(name))));
    while (configured == 0 && (!port || *port == port_ || *port == certificate_port_)) {
      port = probe_port(0);
      if (!port) break;
    }
    return port;
  };
  const auto failed = [](const Result<int>& port) { return Status::error("broker: " + port.error().message()); };
  port_ = certificate_port_ = 0;
  const Result<int> port = choose(options_.port, "port");
  if (!port) return Status::error(failed(port).message() + ": free the port, or configure another one");
  port_ = *port;
  if (!is_loopback(options_.listen)) {
    const Result<int> certificates = choose(options_.certificate_port, "certificate-port");
    if (!certificates)
      return Status::error(failed(certificates).message() + ": free the port, or configure another one");
    certificate_port_ = *certificates;
  }
  const Result<int> local = choose(0, "local-port");
  if (!local) return failed(local);
  local_port_ = *local;
  return Status::ok();
}

Status Broker::settle_passwords() {
  passwords_.clear();
  for (const BrokerIdentity& identity : options_.identities) {
    if (identity.is_enrolled) continue;
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

// Lines of enrolled accounts are hashed already.
Status Broker::write_passwords(const std::string& name, bool of_devices) {
  const std::string before = content_of(file(name));
  std::string plain;
  std::string enrolled;
  for (const BrokerIdentity& identity : options_.identities) {
    if ((identity.role == BrokerIdentity::Role::node) != of_devices) continue;
    if (identity.is_enrolled) {
      enrolled += password_line(before, identity.name);
    } else {
      plain.append(identity.name).append(":").append(passwords_.at(identity.name)).append("\n");
    }
  }
  if (plain.empty()) return write_private_file(file(name), enrolled);
  const Result<std::string> hasher = find_program(options_.password_program);
  if (!hasher) return Status::error(not_installed(hasher.error()));
  const std::string scratch = file(name) + ".hashed.new";
  Status done = write_private_file(scratch, plain);
  if (done.is_success()) done = run_program({*hasher, "-U", scratch});
  if (done.is_success()) done = write_private_file(file(name), content_of(scratch) + enrolled);
  ::unlink(scratch.c_str());
  return done;
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
  const std::string config =
      broker_config({options_.listen, port_, is_plaintext_, certificate_port_, local_port_}, user_name(),
                    {file("passwords"), file("operators"), file("access"), file("tls")}, memory);
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
  if (certificate_port_ == 0) ::unlink(file("certificate-port").c_str());
  for (const auto& [name, port] :
       {std::pair{"local-port", local_port_}, {"certificate-port", certificate_port_}, {"port", port_}}) {
    if (port == 0) continue;
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
  timers_.cancel(renewal_);
  timers_.cancel(clock_watch_);
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
