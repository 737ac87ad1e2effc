#include "firmware-host/ctl/certificates.h"

#include <arpa/inet.h>
#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "firmware-host/gateway/broker_process.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAuthorityDays = "7305";
constexpr const char* kDays = "1826";

// <dir>/<name>.crt and .key.
class Authority {
 public:
  Authority(std::string openssl, std::string dir, std::string name)
      : openssl_(std::move(openssl)), dir_(std::move(dir)), name_(std::move(name)) {}

  Status create() const {
    const bool is_there = fs::exists(file(".crt"));
    if (is_there && fs::exists(file(".crl"))) return Status::ok();
    Status done = is_there ? Status::ok() : make_certificate();
    if (done.is_success()) done = write_private_file(file(".revoked"), "");
    if (done.is_success()) done = make_private_directory(file(".issued"));
    if (done.is_success()) done = write_private_file(file(".cnf"), settings());
    return done.is_success() ? list_revoked() : done;
  }

  // The certificate is remembered as that of the name.
  Status keep(const std::string& name, const std::string& certificate) const {
    std::error_code error;
    fs::copy_file(certificate, issued(name), error);
    return error ? Status::error(issued(name) + ": " + error.message()) : Status::ok();
  }

  // Does nothing if none was issued to the name.
  Status revoke(const std::string& name) const {
    if (!fs::exists(issued(name))) return Status::ok();
    Status done = run({"ca", "-config", file(".cnf"), "-revoke", issued(name)});
    if (done.is_success()) done = list_revoked();
    if (!done.is_success()) return done;
    std::error_code error;
    fs::remove(issued(name), error);
    return error ? Status::error(issued(name) + ": " + error.message()) : Status::ok();
  }
  bool has_issued(const std::string& name) const { return fs::exists(issued(name)); }

  // `extensions`: lines for an openssl extension section.
  Status sign(const std::string& name, const std::string& key, const std::string& certificate,
              const std::string& extensions) const {
    const std::string request = certificate + ".csr";
    const std::string section = certificate + ".ext";
    Status done = run({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256", "-subj",
                       "/CN=" + name, "-keyout", key, "-out", request});
    if (done.is_success()) done = write_private_file(section, extensions);
    if (done.is_success()) {
      done = run({"x509", "-req", "-in", request, "-CA", dir_ + "/" + name_ + ".crt", "-CAkey",
                  dir_ + "/" + name_ + ".key", "-CAcreateserial", "-sha256", "-days", kDays, "-extfile", section,
                  "-out", certificate});
    }
    std::error_code ignored;
    fs::remove(request, ignored);
    fs::remove(section, ignored);
    return done;
  }

 private:
  std::string file(const std::string& ending) const { return dir_ + "/" + name_ + ending; }
  std::string issued(const std::string& name) const { return file(".issued") + "/" + name + ".crt"; }
  Status make_certificate() const {
    return run({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256",
                "-days", kAuthorityDays, "-subj", "/CN=berth " + name_, "-keyout", file(".key"), "-out", file(".crt")});
  }
  std::string settings() const {
    return "[ca]\ndefault_ca = own\n[own]\ndatabase = " + file(".revoked") + "\ncertificate = " + file(".crt") +
           "\nprivate_key = " + file(".key") +
           "\ndefault_md = sha256\nunique_subject = no\ndefault_crl_days = " + kAuthorityDays + "\n";
  }
  Status list_revoked() const { return run({"ca", "-config", file(".cnf"), "-gencrl", "-out", file(".crl")}); }
  Status run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), openssl_);
    return run_program(arguments);
  }
  std::string openssl_;
  std::string dir_;
  std::string name_;
};

bool is_address(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// mosquitto drops root privileges before it reads the files again.
Status let_broker_read(const std::string& dir) {
  const group* broker = ::getgrnam("mosquitto");
  if (broker == nullptr || ::geteuid() != 0) return Status::ok();
  for (const std::string& path : {dir, dir + "/server.key", dir + "/server.crt", dir + "/ca.crt",
                                  dir + "/operators.crt", dir + "/ca.crl", dir + "/operators.crl"}) {
    const fs::perms own =
        path == dir ? fs::perms::owner_all | fs::perms::group_exec : fs::perms::owner_read | fs::perms::owner_write;
    std::error_code error;
    fs::permissions(path, own | fs::perms::group_read, error);
    if (!error && ::chown(path.c_str(), 0, broker->gr_gid) != 0) error = {errno, std::generic_category()};
    if (error) return Status::error(path + ": cannot let mosquitto read it: " + error.message());
  }
  return Status::ok();
}

}  // namespace

Outcome<void> issue_certificate(const std::string& dir, const std::string& name, bool is_operator,
                                const std::string& host, const std::string& output) {
  const Result<std::string> openssl = find_program("openssl");
  if (!openssl) return fail(Exit::refused, openssl.error().message() + ": install the package openssl");
  Status done = make_private_directory(dir);
  const Authority authority(*openssl, dir, "ca");
  const Authority operators(*openssl, dir, "operators");
  if (done.is_success()) done = authority.create();
  if (done.is_success()) done = operators.create();
  if (done.is_success() && !fs::exists(dir + "/server.crt")) {
    const std::string names = "subjectAltName=" + std::string(is_address(host) ? "IP:" : "DNS:") + host +
                              ",DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n";
    done = authority.sign(host, dir + "/server.key", dir + "/server.crt", names);
  }
  const Authority& own = is_operator ? operators : authority;
  const std::string certificate = output + "/" + name + ".crt";
  if (done.is_success()) {
    done = own.sign(name, output + "/" + name + ".key", certificate, "extendedKeyUsage=clientAuth\n");
  }
  if (done.is_success()) done = own.keep(name, certificate);
  if (!done.is_success()) return fail(Exit::refused, "openssl: " + done.message());
  std::error_code error;
  fs::copy_file(dir + "/ca.crt", output + "/ca.crt", fs::copy_options::overwrite_existing, error);
  if (error) return fail(Exit::refused, output + "/ca.crt: " + error.message());
  const Status readable = let_broker_read(dir);
  if (!readable.is_success()) return fail(Exit::refused, readable.message());
  return {};
}

Outcome<bool> revoke_certificate(const std::string& dir, const std::string& name) {
  if (!fs::exists(dir)) return false;
  const Result<std::string> openssl = find_program("openssl");
  if (!openssl) return fail(Exit::refused, openssl.error().message() + ": install the package openssl");
  const Authority authorities[] = {{*openssl, dir, "ca"}, {*openssl, dir, "operators"}};
  const auto has_issued = [&](const Authority& each) { return each.has_issued(name); };
  if (std::none_of(std::begin(authorities), std::end(authorities), has_issued)) return false;
  Status done = Status::ok();
  for (const Authority& each : authorities) {  // both lists: the listeners are given both
    if (done.is_success()) done = each.create();
    if (done.is_success()) done = each.revoke(name);
  }
  if (done.is_success()) done = let_broker_read(dir);
  if (!done.is_success()) return fail(Exit::refused, "openssl: " + done.message());
  return true;
}

}  // namespace berth
