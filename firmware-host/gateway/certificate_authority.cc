#include "firmware-host/gateway/certificate_authority.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "firmware-host/gateway/broker_process.h"

namespace berth {

namespace {

constexpr Millis kMinute = Millis{60} * 1000;
constexpr Millis kHour = 60 * kMinute;
constexpr Millis kDay = 24 * kHour;
constexpr Millis kPatience = 30'000;
// A device that did not get its certificate asks again with the same request.
constexpr std::int64_t kSentAgainSeconds = std::int64_t{30} * 24 * 3600;
constexpr std::int64_t kDaySeconds = std::int64_t{24} * 3600;
constexpr std::size_t kOutputMax = 1000;

IssuedCertificate refusal(std::string why, Millis retry_ms) { return {{}, std::move(why), retry_ms}; }

}  // namespace

struct CertificateAuthority::Signing {
  Signing(const std::string& dir, std::string node_in, std::string request_in, Done done_in)
      : node(std::move(node_in)), request(std::move(request_in)), done(std::move(done_in)), lock(dir, "ca", false) {}

  std::string node;
  std::string request;
  Done done;
  AuthorityLock lock;
  std::optional<Authority> authority;
  pid_t pid = 0;
  std::unique_ptr<FdWatch> exit;    // its pidfd
  std::unique_ptr<FdWatch> output;  // its standard error
  std::string said;
  Timers::Id deadline = 0;
};

CertificateAuthority::CertificateAuthority(asio::io_context& loop, const Clock& clock, Timers& timers, std::string dir)
    : loop_(loop), clock_(clock), timers_(timers), dir_(std::move(dir)) {}

CertificateAuthority::~CertificateAuthority() {
  if (signing_ == nullptr) return;
  timers_.cancel(signing_->deadline);
  ::kill(signing_->pid, SIGKILL);
  ::waitpid(signing_->pid, nullptr, 0);
}

// The lock is given back before `done` is called, which may ask for the next one.
void CertificateAuthority::issue(const std::string& node, const std::string& request, Done done) {
  const std::optional<IssuedCertificate> at_once = begin(node, request, done);
  if (at_once) done(*at_once);
}

std::optional<IssuedCertificate> CertificateAuthority::begin(const std::string& node, const std::string& request,
                                                             const Done& done) {
  if (!std::filesystem::exists(dir_ + "/ca.key")) {
    return refusal("this gateway does not hold the authority of the broker's certificates", kDay);
  }
  auto signing = std::make_unique<Signing>(dir_, node, request, done);
  if (!signing->lock.is_held()) return refusal("the authority is in use", kMinute);
  Result<Authority> authority = Authority::open(dir_, "ca");
  if (!authority) return refusal(authority.error().message(), kHour);
  signing->authority = std::move(*authority);
  if (!signing->authority->has_issued(node)) {
    return refusal("no certificate of " + node + " is valid here: it was revoked, or never enrolled with one", kDay);
  }
  const std::optional<std::int64_t> since = signing->authority->seconds_since_renewal(node);
  if (since && *since < kSentAgainSeconds) {
    const std::string again = signing->authority->renewed(node, request);
    if (!again.empty()) return IssuedCertificate{again, {}, 0};
  }
  if (since && *since >= 0 && *since < kDaySeconds) {
    return refusal("a certificate was issued to " + node + " less than a day ago", kDay);
  }
  if (signing->authority->has_too_many(node)) {
    return refusal(node + " has too many certificates: enroll it again with --replace", kDay);
  }
  if (const Status begun = start(*signing); !begun.is_success()) return refusal(begun.message(), kHour);
  signing_ = std::move(signing);
  return std::nullopt;
}

Status CertificateAuthority::start(Signing& signing) {
  const Result<std::vector<std::string>> command = signing.authority->begin_renewal(signing.node, signing.request);
  if (!command) return command.error();
  const Result<ChildProcess> child = spawn_child(*command);
  if (!child) return child.error();
  signing.pid = child->pid;
  signing.exit = std::make_unique<FdWatch>(loop_, child->pidfd, [this] { on_exit(); });
  signing.output = std::make_unique<FdWatch>(loop_, child->output_fd, [this] { on_output(); });
  signing.deadline = timers_.at(clock_.now() + kPatience, [pid = child->pid] { ::kill(pid, SIGKILL); });
  return Status::ok();
}

void CertificateAuthority::on_output() {
  if (signing_ == nullptr || signing_->output == nullptr) return;
  char bytes[512];
  const ssize_t got = ::read(signing_->output->fd(), bytes, sizeof bytes);
  if (got > 0 && signing_->said.size() < kOutputMax) signing_->said.append(bytes, static_cast<std::size_t>(got));
  if (got == 0) signing_->output.reset();
}

void CertificateAuthority::on_exit() {
  int status = 0;
  if (::waitpid(signing_->pid, &status, WNOHANG) != signing_->pid) return;
  on_output();
  timers_.cancel(signing_->deadline);
  const IssuedCertificate issued = outcome_of(*signing_, status);
  const Done done = std::move(signing_->done);
  signing_.reset();
  done(issued);
}

// What openssl says of a request is shown to people, and no longer than that.
IssuedCertificate CertificateAuthority::outcome_of(const Signing& signing, int status) {
  if (status != 0) {
    return refusal("the signing request is not accepted: " + signing.said.substr(0, signing.said.find('\n')), kDay);
  }
  const Result<std::string> certificate = signing.authority->end_renewal(signing.node, signing.request);
  return certificate ? IssuedCertificate{*certificate, {}, 0} : refusal(certificate.error().message(), kHour);
}

}  // namespace berth
