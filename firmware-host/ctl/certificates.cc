#include "firmware-host/ctl/certificates.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "firmware-host/ctl/broker_site.h"
#include "firmware-host/gateway/authority.h"
#include "firmware-host/gateway/broker_tls.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAuthorities[] = {"ca", "operators"};

std::unexpected<Failure> refused(const Status& status) { return fail(Exit::refused, status.message()); }

// mosquitto drops root privileges before it reads the files again.
Status let_broker_read(const std::string& dir) {
  const std::optional<gid_t> broker = broker_group(fs::path(dir).parent_path().string());
  if (!broker || ::geteuid() != 0) return Status::ok();
  for (const std::string& path : {dir, dir + "/server.key", dir + "/server.crt", dir + "/ca.crt",
                                  dir + "/operators.crt", dir + "/ca.crl", dir + "/operators.crl"}) {
    const fs::perms own =
        path == dir ? fs::perms::owner_all | fs::perms::group_exec : fs::perms::owner_read | fs::perms::owner_write;
    std::error_code error;
    fs::permissions(path, own | fs::perms::group_read, error);
    if (!error && ::chown(path.c_str(), 0, *broker) != 0) error = {errno, std::generic_category()};
    if (error) return Status::error(path + ": cannot let mosquitto read it: " + error.message());
  }
  return Status::ok();
}

// The embedded broker's is berthd's to renew, which does so earlier.
Status settle_broker_certificate(const std::string& dir, const std::string& host, const Authority& authority) {
  if (fs::exists(dir + "/server.crt")) {
    const Result<bool> is_ending = expires_within(dir + "/server.crt", kRenewBeforeSeconds / 2);
    if (!is_ending) return is_ending.error();
    const Result<std::string> begin = not_valid_until(dir + "/server.crt");
    if (!begin) return begin.error();
    if (!*is_ending && begin->empty()) return Status::ok();
    const Result<std::optional<std::vector<std::string>>> names = names_issued(dir + "/server.crt");
    if (!names) return names.error();
    return *names ? authority.issue_to_server(**names) : Status::ok();  // one of your own is yours to renew
  }
  return authority.issue_to_server({host, "localhost", "127.0.0.1"});
}

}  // namespace

Outcome<void> settle_authorities(const std::string& dir, const std::string& host, const std::string& output) {
  const Result<Authority> devices = Authority::open(dir, "ca");
  if (!devices) return refused(devices.error());
  const Result<Authority> operators = Authority::open(dir, "operators");
  if (!operators) return refused(operators.error());
  if (const Outcome<bool> mended = mend_lists(dir); !mended) return std::unexpected(mended.error());
  if (const Status done = settle_broker_certificate(dir, host, *devices); !done.is_success()) return refused(done);
  std::error_code error;
  fs::copy_file(dir + "/ca.crt", output + "/ca.crt", fs::copy_options::overwrite_existing, error);
  if (error) return fail(Exit::refused, output + "/ca.crt: " + error.message());
  if (const Status readable = let_broker_read(dir); !readable.is_success()) return refused(readable);
  return {};
}

Outcome<bool> settle_address(const std::string& dir, const std::string& host) {
  if (subject_names({host}).empty()) {
    return fail(Exit::usage, "--address: \"" + host +
                                 "\" cannot stand in the broker's certificate: expected a host name of letters, "
                                 "digits, '-' and '.', or an IP address");
  }
  if (!fs::exists(dir + "/server.crt")) return false;
  const Result<bool> added = add_server_name(dir, host);
  if (!added) return fail(Exit::refused, "--address: " + added.error().message());
  if (!*added) return false;
  if (const Status readable = let_broker_read(dir); !readable.is_success()) return refused(readable);
  return true;
}

Outcome<void> issue_certificate(const std::string& dir, const std::string& name, bool is_operator,
                                const std::string& host, const std::string& output) {
  if (auto settled = settle_authorities(dir, host, output); !settled) return settled;
  const Result<Authority> own = Authority::open(dir, is_operator ? "operators" : "ca");
  if (!own) return refused(own.error());
  if (const Status done = own->issue_to_client(name, output + "/" + name); !done.is_success()) return refused(done);
  if (const Status readable = let_broker_read(dir); !readable.is_success()) return refused(readable);
  return {};
}

bool has_certificate(const std::string& dir, const std::string& name, bool is_operator) {
  return fs::exists(dir + (is_operator ? "/operators" : "/ca") + ".issued/" + name + ".crt");
}

Outcome<bool> mend_lists(const std::string& dir) {
  bool is_mended = false;
  for (const char* each : kAuthorities) {
    if (!fs::exists(dir + "/" + each + ".crl")) continue;
    const Result<Authority> authority = Authority::open(dir, each);
    if (!authority) return refused(authority.error());
    const Result<bool> mended = authority->mend_list();
    if (!mended) return refused(mended.error());
    is_mended = is_mended || *mended;
  }
  if (const Status readable = is_mended ? let_broker_read(dir) : Status::ok(); !readable.is_success()) {
    return refused(readable);
  }
  return is_mended;
}

Outcome<bool> revoke_certificate(const std::string& dir, const std::string& name) {
  if (!has_certificate(dir, name, false) && !has_certificate(dir, name, true)) return false;
  for (const char* each : kAuthorities) {  // both lists: the listeners are given both
    const Result<Authority> authority = Authority::open(dir, each);
    if (!authority) return refused(authority.error());
    if (const Status done = authority->revoke(name); !done.is_success()) return refused(done);
  }
  if (const Status readable = let_broker_read(dir); !readable.is_success()) return refused(readable);
  return true;
}

}  // namespace berth
