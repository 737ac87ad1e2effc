#include "firmware-host/ctl/certificates.h"

#include <arpa/inet.h>
#include <grp.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "firmware-host/gateway/broker_process.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAuthorityDays = "7305";
constexpr const char* kDays = "1826";

class Authority {
 public:
  Authority(std::string openssl, std::string dir) : openssl_(std::move(openssl)), dir_(std::move(dir)) {}

  Status create() const {
    if (fs::exists(dir_ + "/ca.crt")) return Status::ok();
    return run({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256",
                "-days", kAuthorityDays, "-subj", "/CN=berth authority", "-keyout", dir_ + "/ca.key", "-out",
                dir_ + "/ca.crt"});
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
      done = run({"x509", "-req", "-in", request, "-CA", dir_ + "/ca.crt", "-CAkey", dir_ + "/ca.key",
                  "-CAcreateserial", "-sha256", "-days", kDays, "-extfile", section, "-out", certificate});
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
};

bool is_address(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// mosquitto drops root privileges before it reads the files again.
Status let_broker_read(const std::string& dir) {
  const group* broker = ::getgrnam("mosquitto");
  if (broker == nullptr || ::geteuid() != 0) return Status::ok();
  for (const std::string& path : {dir, dir + "/server.key", dir + "/server.crt", dir + "/ca.crt"}) {
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

Outcome<void> issue_certificate(const std::string& dir, const std::string& name, const std::string& host,
                                const std::string& output) {
  const Result<std::string> openssl = find_program("openssl");
  if (!openssl) return fail(Exit::refused, openssl.error().message() + ": install the package openssl");
  Status done = make_private_directory(dir);
  const Authority authority(*openssl, dir);
  if (done.is_success()) done = authority.create();
  if (done.is_success() && !fs::exists(dir + "/server.crt")) {
    const std::string names = "subjectAltName=" + std::string(is_address(host) ? "IP:" : "DNS:") + host +
                              ",DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n";
    done = authority.sign(host, dir + "/server.key", dir + "/server.crt", names);
  }
  if (done.is_success()) {
    done = authority.sign(name, output + "/" + name + ".key", output + "/" + name + ".crt",
                          "extendedKeyUsage=clientAuth\n");
  }
  if (!done.is_success()) return fail(Exit::refused, "openssl: " + done.message());
  std::error_code error;
  fs::copy_file(dir + "/ca.crt", output + "/ca.crt", fs::copy_options::overwrite_existing, error);
  if (error) return fail(Exit::refused, output + "/ca.crt: " + error.message());
  const Status readable = let_broker_read(dir);
  if (!readable.is_success()) return fail(Exit::refused, readable.message());
  return {};
}

std::string tls_listener(const std::string& dir, int port) {
  return "# Written by berthctl enroll --certificate: devices present a certificate; its common name is the account.\n"
         "listener " +
         std::to_string(port) + "\ncafile " + dir + "/ca.crt\ncertfile " + dir + "/server.crt\nkeyfile " + dir +
         "/server.key\nrequire_certificate true\nuse_identity_as_username true\n";
}

}  // namespace berth
