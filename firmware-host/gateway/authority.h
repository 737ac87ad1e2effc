// A small private certificate authority using the openssl program: for the embedded broker, and for `berthctl enroll`
// at any broker. The broker uses a certificate's common name as the user name. Keys are elliptic P-256; authorities are
// valid for 20 years, other certificates for 5. Every file is complete or absent, whenever the power is cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

// While it exists, no other program changes what an authority has issued and revoked.
class AuthorityLock {
 public:
  // False in is_held(): another program holds it, and `waits` is false; or there is no such directory.
  AuthorityLock(const std::string& dir, const std::string& name, bool waits);
  ~AuthorityLock();
  AuthorityLock(const AuthorityLock&) = delete;
  AuthorityLock& operator=(const AuthorityLock&) = delete;
  bool is_held() const { return fd_ >= 0; }

 private:
  int fd_;
};

// <dir>/<name>.crt, .key, and what it has issued and revoked. Devices and broker belong to "ca"; operators have an
// authority of their own, "operators", because the broker can tell roles only by it.
class Authority {
 public:
  // Makes it unless it exists. The error names the program that is missing.
  static Result<Authority> open(const std::string& dir, const std::string& name);

  // <output>.crt and .key for a client; remembered as that of the name.
  // An earlier one that was not revoked stays valid.
  Status issue_to_client(const std::string& name, const std::string& output) const;
  // <dir>/server.crt and .key for a broker at these names and addresses; the key is made once.
  Status issue_to_server(const std::vector<std::string>& names) const;
  // A client made the key itself, and asks to have `request` signed. Takes two steps, since the program in between
  // takes its time: its arguments, which sign nothing but the public key, for this name; then the certificate (PEM),
  // recorded as that of the name. The caller holds the lock from before the first until after the second.
  Result<std::vector<std::string>> begin_renewal(const std::string& name, const std::string& request) const;
  Result<std::string> end_renewal(const std::string& name, const std::string& request) const;
  // What was issued to the name by end_renewal() for this very request; empty: nothing.
  std::string renewed(const std::string& name, const std::string& request) const;
  // Seconds since the last end_renewal() of the name; none: never.
  std::optional<std::int64_t> seconds_since_renewal(const std::string& name) const;
  // Whether the name has so many valid certificates that the oldest would have to go before another one.
  bool has_too_many(const std::string& name) const { return count_earlier(name) >= kEarlierMax; }
  // Makes all certificates of the name invalid. Does nothing if none was issued to it.
  Status revoke(const std::string& name) const;
  // Writes the list of what is revoked again if that is not valid yet (not_valid_until). True: it was, and is mended.
  Result<bool> mend_list() const;
  // Whether it has issued a certificate to the name that is not revoked.
  bool has_issued(const std::string& name) const;

 private:
  Authority(std::string openssl, std::string dir, std::string name);
  Status create() const;
  Status make_certificate() const;
  Status make_key(const std::string& path) const;
  Status sign(const std::string& name, const std::string& output, const std::string& extensions) const;
  Status add_revoked(const std::string& certificate) const;
  Status list_revoked() const;
  Status run(std::vector<std::string> arguments) const;
  std::string settings() const;
  std::string file(const std::string& ending) const { return dir_ + "/" + name_ + ending; }
  std::string issued(const std::string& name) const { return file(".issued") + "/" + name + ".crt"; }
  std::string renewal_request(const std::string& name) const { return issued(name) + ".request"; }
  std::vector<std::string> signing(const std::string& name, const std::string& output) const;
  Status record(const std::string& name, const std::string& certificate) const;

  // Before a renewal.
  static constexpr int kEarlierMax = 16;
  std::string earlier(const std::string& name, int number) const { return issued(name) + "." + std::to_string(number); }
  int count_earlier(const std::string& name) const;

  std::string openssl_;
  std::string dir_;
  std::string name_;
};

// Whether the certificate in the file is valid for less than this, or cannot be read.
Result<bool> expires_within(const std::string& certificate, std::int64_t seconds);

// When this certificate (.crt) or list of revoked ones (.crl) begins to be valid, for people, if that is more than a
// minute away: it was made while this machine's clock was ahead, and everybody whose clock is right refuses it. Empty:
// it is valid, or has been.
Result<std::string> not_valid_until(const std::string& file);

inline constexpr std::int64_t kCertificateDays = 1826;

// Whether a client that connects to this name or address accepts the certificate, as OpenSSL judges it.
Result<bool> is_certificate_for(const std::string& certificate, const std::string& host);
// The names and addresses in a broker's certificate that issue_to_server() made; nullopt: somebody else made it.
Result<std::optional<std::vector<std::string>>> names_issued(const std::string& certificate);

// Certificates are renewed when a third of their life is left.
inline constexpr std::int64_t kRenewBeforeSeconds = kCertificateDays * 24 * 3600 / 3;

// "DNS:gateway,IP:192.0.2.1": a subjectAltName of these names and addresses. What is neither is left out.
std::string subject_names(const std::vector<std::string>& names);

}  // namespace berth
