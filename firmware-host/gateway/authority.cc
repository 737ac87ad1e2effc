#include "firmware-host/gateway/authority.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAuthorityDays = "7305";
constexpr const char* kBrokerName = "berth broker";
constexpr const char* kForClients = "extendedKeyUsage=clientAuth\n";
constexpr const char* kRenewal = ".renewal";

bool is_address(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

bool is_host_name(const std::string& host) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), is_part);
}

// Empty if there is no such file.
std::string text_in_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : std::string();
}

// Gives a file that a program wrote as `path`.new its name, durably and with mode 0600.
Status publish(const std::string& path) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_durable = fd >= 0 && ::fchmod(fd, 0600) == 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_durable) return Status::error("cannot write " + fresh + ": " + std::strerror(error));
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    return Status::error("cannot write " + path + ": " + std::strerror(errno));
  }
  return Status::ok();
}

// What a clock that begins in 1970 signs would be invalid by the time it is set.
Status check_clock() {
  if (is_clock_set(RealClock().wall())) return Status::ok();
  return Status::error("this machine's clock is not set, so no certificate can be made: set it (NTP), then try again");
}

Result<std::string> find_openssl() {
  Result<std::string> found = find_program("openssl");
  if (!found) return Status::error(found.error().message() + ": install the package openssl");
  return found;
}

// What the program tells of a certificate (x509) or a list of revoked ones (crl).
Result<std::string> told_of(const std::string& certificate, const std::vector<std::string>& questions,
                            const std::string& kind = "x509") {
  const Result<std::string> openssl = find_openssl();
  if (!openssl) return openssl.error();
  const std::string scratch = certificate + ".text.new";
  std::vector<std::string> arguments{*openssl, kind, "-noout", "-in", certificate, "-out", scratch};
  arguments.insert(arguments.end(), questions.begin(), questions.end());
  const Status done = run_program(arguments);
  std::ifstream file(scratch);
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::error_code ignored;
  fs::remove(scratch, ignored);
  return done.is_success() ? Result<std::string>(std::move(text)) : Status::error(certificate + ": " + done.message());
}

Status copy(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to + ".new", fs::copy_options::overwrite_existing, error);
  return error ? Status::error(to + ": " + error.message()) : publish(to);
}

}  // namespace

AuthorityLock::AuthorityLock(const std::string& dir, const std::string& name, bool waits)
    : fd_(::open((dir + "/" + name + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (fd_ < 0 || ::flock(fd_, LOCK_EX | (waits ? 0 : LOCK_NB)) == 0) return;
  ::close(fd_);
  fd_ = -1;
}

AuthorityLock::~AuthorityLock() {
  if (fd_ >= 0) ::close(fd_);
}

Authority::Authority(std::string openssl, std::string dir, std::string name)
    : openssl_(std::move(openssl)), dir_(std::move(dir)), name_(std::move(name)) {}

Result<Authority> Authority::open(const std::string& dir, const std::string& name) {
  Result<std::string> openssl = find_openssl();
  if (!openssl) return openssl.error();
  Authority authority(std::move(*openssl), dir, name);
  Status done = make_private_directory(dir);
  if (done.is_success()) done = authority.create();
  if (!done.is_success()) return done;
  return authority;
}

Status Authority::create() const {
  const bool is_there = fs::exists(file(".crt"));
  if (is_there && fs::exists(file(".crl"))) return Status::ok();
  Status done = is_there ? Status::ok() : make_certificate();
  if (done.is_success()) done = write_private_file(file(".revoked"), "");
  if (done.is_success()) done = make_private_directory(file(".issued"));
  return done.is_success() ? list_revoked() : done;
}

Status Authority::issue_to_client(const std::string& name, const std::string& output) const {
  const AuthorityLock lock(dir_, name_, true);
  Status done = make_key(output + ".key");
  if (done.is_success()) done = sign(name, output, kForClients);
  return done.is_success() ? record(name, output + ".crt") : done;
}

// The name has a certificate at any moment: without one it would count as revoked. Whoever was stopped between the two
// copies has left the last one under both names.
Status Authority::record(const std::string& name, const std::string& certificate) const {
  const int count = count_earlier(name);
  const std::string last = text_in_file(issued(name));
  if (!last.empty() && (count == 0 || text_in_file(earlier(name, count)) != last)) {
    const Status kept = copy(issued(name), earlier(name, count + 1));
    if (!kept.is_success()) return kept;
  }
  return copy(certificate, issued(name));
}

Result<std::vector<std::string>> Authority::begin_renewal(const std::string& name, const std::string& request) const {
  Status done = check_clock();
  if (done.is_success()) done = write_private_file(file(kRenewal) + ".csr.new", request);
  if (done.is_success()) done = write_private_file(file(kRenewal) + ".ext.new", kForClients);
  if (!done.is_success()) return done;
  std::vector<std::string> command = signing(name, file(kRenewal));
  command.insert(command.begin(), openssl_);
  return command;
}

Result<std::string> Authority::end_renewal(const std::string& name, const std::string& request) const {
  Status done = record(name, file(kRenewal) + ".crt.new");
  if (done.is_success()) done = write_private_file(renewal_request(name), request);
  std::error_code ignored;
  for (const char* ending : {".csr.new", ".ext.new", ".crt.new"}) fs::remove(file(kRenewal) + ending, ignored);
  if (!done.is_success()) return done;
  return text_in_file(issued(name));
}

std::string Authority::renewed(const std::string& name, const std::string& request) const {
  return has_issued(name) && text_in_file(renewal_request(name)) == request ? text_in_file(issued(name))
                                                                            : std::string();
}

std::optional<std::int64_t> Authority::seconds_since_renewal(const std::string& name) const {
  struct stat found{};
  if (::stat(renewal_request(name).c_str(), &found) != 0) return std::nullopt;
  return std::int64_t{std::time(nullptr)} - std::int64_t{found.st_mtime};
}

Status Authority::issue_to_server(const std::vector<std::string>& names) const {
  const std::string output = dir_ + "/server";
  Status done = fs::exists(output + ".key") ? Status::ok() : make_key(output + ".key");
  if (!done.is_success()) return done;
  return sign(kBrokerName, output, "subjectAltName=" + subject_names(names) + "\nextendedKeyUsage=serverAuth\n");
}

Status Authority::revoke(const std::string& name) const {
  const AuthorityLock lock(dir_, name_, true);
  // The program wants to know where its files are: here, wherever the directory was moved to.
  Status done = write_private_file(file(".cnf"), settings());
  std::vector<std::string> certificates;
  for (int number = count_earlier(name); number > 0; --number) certificates.push_back(earlier(name, number));
  if (has_issued(name)) certificates.push_back(issued(name));
  for (const std::string& certificate : certificates) {
    if (done.is_success()) done = add_revoked(certificate);
    if (done.is_success()) done = list_revoked();
    if (!done.is_success()) return done;
    std::error_code error;
    fs::remove(certificate, error);
    if (error) return Status::error(certificate + ": " + error.message());
  }
  std::error_code ignored;
  fs::remove(renewal_request(name), ignored);
  return done;
}

// Adding it twice is well: who was stopped half-way begins at the start again.
Status Authority::add_revoked(const std::string& certificate) const {
  const Status done = run({"ca", "-config", file(".cnf"), "-revoke", certificate});
  return done.message().find("Already revoked") == std::string::npos ? done : Status::ok();
}

int Authority::count_earlier(const std::string& name) const {
  int count = 0;
  while (fs::exists(earlier(name, count + 1))) ++count;
  return count;
}

bool Authority::has_issued(const std::string& name) const { return fs::exists(issued(name)); }

// The key has its name before there is a certificate of it.
Status Authority::make_certificate() const {
  Status done = check_clock();
  if (!done.is_success()) return done;
  done = run({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256", "-days",
              kAuthorityDays, "-subj", "/CN=berth " + name_, "-keyout", file(".key.new"), "-out", file(".crt.new")});
  if (done.is_success()) done = publish(file(".key"));
  return done.is_success() ? publish(file(".crt")) : done;
}

Status Authority::make_key(const std::string& path) const {
  const Status done =
      run({"genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", path + ".new"});
  return done.is_success() ? publish(path) : done;
}

// Of the key <output>.key. `extensions`: lines for an openssl extension section.
Status Authority::sign(const std::string& name, const std::string& output, const std::string& extensions) const {
  const std::string request = output + ".csr.new";
  const std::string section = output + ".ext.new";
  Status done = check_clock();
  if (!done.is_success()) return done;
  done = run({"req", "-new", "-key", output + ".key", "-sha256", "-subj", "/CN=" + name, "-out", request});
  if (done.is_success()) done = write_private_file(section, extensions);
  if (done.is_success()) done = run(signing(name, output));
  if (done.is_success()) done = publish(output + ".crt");
  std::error_code ignored;
  fs::remove(request, ignored);
  fs::remove(section, ignored);
  return done;
}

// <output>.csr.new with the extensions in <output>.ext.new as <output>.crt.new: names that a backup leaves out. Neither
// the subject nor the extensions of the request count. The serial number is random: two programs may sign at the same
// time.
std::vector<std::string> Authority::signing(const std::string& name, const std::string& output) const {
  return {"x509",
          "-req",
          "-in",
          output + ".csr.new",
          "-subj",
          "/CN=" + name,
          "-CA",
          file(".crt"),
          "-CAkey",
          file(".key"),
          "-set_serial",
          "0x1" + random_password().substr(0, 30),
          "-sha256",
          "-days",
          std::to_string(kCertificateDays),
          "-extfile",
          output + ".ext.new",
          "-out",
          output + ".crt.new"};
}

std::string Authority::settings() const {
  return "[ca]\ndefault_ca = own\n[own]\ndatabase = " + file(".revoked") + "\ncertificate = " + file(".crt") +
         "\nprivate_key = " + file(".key") +
         "\ndefault_md = sha256\nunique_subject = no\ndefault_crl_days = " + kAuthorityDays + "\n";
}

Status Authority::list_revoked() const {
  Status done = write_private_file(file(".cnf"), settings());
  if (done.is_success()) done = run({"ca", "-config", file(".cnf"), "-gencrl", "-out", file(".crl.new")});
  return done.is_success() ? publish(file(".crl")) : done;
}

// Who revokes meanwhile writes it anyway.
Result<bool> Authority::mend_list() const {
  const AuthorityLock lock(dir_, name_, false);
  if (!lock.is_held() || !fs::exists(file(".crl")) || !is_clock_set(RealClock().wall())) return false;
  const Result<std::string> begin = not_valid_until(file(".crl"));
  if (!begin || begin->empty()) return begin ? Result<bool>(false) : begin.error();
  const Status listed = list_revoked();
  return listed.is_success() ? Result<bool>(true) : listed;
}

Status Authority::run(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), openssl_);
  const Status done = run_program(arguments);
  return done.is_success() ? done : Status::error("openssl: " + done.message());
}

Result<bool> expires_within(const std::string& certificate, std::int64_t seconds) {
  const Result<std::string> openssl = find_openssl();
  if (!openssl) return openssl.error();
  return !run_program({*openssl, "x509", "-noout", "-in", certificate, "-checkend", std::to_string(seconds)})
              .is_success();
}

// "notBefore=Nov 25 12:00:00 2026 GMT", or "Last Update: Nov 25 12:00:00 2026 GMT" in the text of a list.
Result<std::string> not_valid_until(const std::string& file) {
  const bool is_list = file.ends_with(".crl");
  const Result<std::string> told = is_list ? told_of(file, {"-text"}, "crl") : told_of(file, {"-startdate"});
  if (!told) return told.error();
  const std::string label = is_list ? "Last Update: " : "notBefore=";
  const std::size_t at = told->find(label);
  std::tm begin{};
  if (at == std::string::npos ||
      ::strptime(told->c_str() + at + label.size(), "%b %e %H:%M:%S %Y", &begin) == nullptr) {
    return Status::error(file + ": no beginning of its validity");
  }
  // What begins within a minute mends itself, and clocks are put right by some seconds all the time.
  constexpr Millis kSoonMs = 60'000;
  if (Millis{::timegm(&begin)} * 1000 <= RealClock().wall() + kSoonMs) return std::string();
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &begin);
  return std::string(text);
}

// The program exits 0 whatever the answer is.
Result<bool> is_certificate_for(const std::string& certificate, const std::string& host) {
  const Result<std::string> told = told_of(certificate, {is_address(host) ? "-checkip" : "-checkhost", host});
  if (!told) return told.error();
  return told->find("does match certificate") != std::string::npos;
}

Result<std::optional<std::vector<std::string>>> names_issued(const std::string& certificate) {
  const Result<std::string> told = told_of(certificate, {"-subject", "-ext", "subjectAltName"});
  if (!told) return told.error();
  std::istringstream lines(*told);
  std::string line;
  std::getline(lines, line);
  if (!line.ends_with(kBrokerName)) return std::optional<std::vector<std::string>>();
  std::vector<std::string> names;
  while (std::getline(lines, line)) {
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, ',');) {
      for (const std::string kind : {"DNS:", "IP Address:"}) {
        if (const std::size_t at = part.find(kind); at != std::string::npos)
          names.push_back(part.substr(at + kind.size()));
      }
    }
  }
  return std::optional(std::move(names));
}

std::string subject_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const bool address = is_address(name);
    if (!address && !is_host_name(name)) continue;
    text.append(text.empty() ? "" : ",").append(address ? "IP:" : "DNS:").append(name);
  }
  return text;
}

}  // namespace berth
