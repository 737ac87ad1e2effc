#include "firmware-host/ctl/certificates.h"

#include <arpa/inet.h>
#include <grp.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "firmware-host/gateway/broker_config.h"
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
    if (fs::exists(dir_ + "/" + name_ + ".crt")) return Status::ok();
    return run({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256",
                "-days", kAuthorityDays, "-subj", "/CN=berth " + name_, "-keyout", dir_ + "/" + name_ + ".key", "-out",
                dir_ + "/" + name_ + ".crt"});
  }

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
  for (const std::string& path :
       {dir, dir + "/server.key", dir + "/server.crt", dir + "/ca.crt", dir + "/operators.crt"}) {
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
  if (done.is_success()) {
    done = (is_operator ? operators : authority)
               .sign(name, output + "/" + name + ".key", output + "/" + name + ".crt", "extendedKeyUsage=clientAuth\n");
  }
  if (!done.is_success()) return fail(Exit::refused, "openssl: " + done.message());
  std::error_code error;
  fs::copy_file(dir + "/ca.crt", output + "/ca.crt", fs::copy_options::overwrite_existing, error);
  if (error) return fail(Exit::refused, output + "/ca.crt: " + error.message());
  const Status readable = let_broker_read(dir);
  if (!readable.is_success()) return fail(Exit::refused, readable.message());
  return {};
}

std::string tls_listeners(const std::string& broker_dir, int port) {
  const std::string tls = broker_dir + "/tls";
  const auto listen = [&](int number, const std::string& authority) {
    return "listener " + std::to_string(number) + "\ncafile " + tls + "/" + authority + ".crt\ncertfile " + tls +
           "/server.crt\nkeyfile " + tls + "/server.key\nrequire_certificate true\nuse_identity_as_username true\n" +
           "acl_file " + broker_dir + "/access\n";
  };
  return "# Written by berthctl enroll --certificate: clients present a certificate; its common name is the account.\n"
         "# Devices and gateway: the account is the client id as well, so nobody can end another's session.\n" +
         listen(port, "ca") + "max_connections " + std::to_string(kBrokerDevicesMax) +
         "\nuse_username_as_clientid true\n"
         "# Operators, by certificates of an authority of their own.\n" +
         listen(port + 1, "operators") + "max_connections " + std::to_string(kBrokerOperatorsMax) + "\n";
}

}  // namespace berth
