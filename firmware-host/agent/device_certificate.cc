#include "firmware-host/agent/device_certificate.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "firmware-host/real_clock.h"
#include "storage/paths.h"
#include "transports/client_certificate.h"
#include "transports/tls_context.h"

namespace berth {

namespace {

constexpr const char* kRenewed = "certificate.pem";
constexpr const char* kPrevious = "certificate.previous.pem";
constexpr const char* kNext = "certificate.next.pem";
constexpr std::size_t kFileMax = 64 * 1024;
// Clocks of gateway and device differ.
constexpr Millis kEarly = Millis{24} * 3600 * 1000;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

}  // namespace

DeviceCertificate::DeviceCertificate(Files files, std::function<Millis()> now, Log& log)
    : files_(std::move(files)), now_(std::move(now)), log_(log) {
  look();
}

// A pair that was enrolled since has a later beginning than any renewal of the one before, and comes first.
void DeviceCertificate::look() {
  pairs_.clear();
  const auto add = [this](Pair pair) {
    const auto at = std::upper_bound(pairs_.begin(), pairs_.end(), pair,
                                     [](const Pair& a, const Pair& b) { return a.life.begin > b.life.begin; });
    pairs_.insert(at, std::move(pair));
  };
  for (const char* name : {kRenewed, kPrevious}) {
    const std::string path = file(name);
    const std::string text = content_of(path);
    if (text.empty()) continue;
    const Result<CertificateLife> life = examine_certificate(text, {text, files_.node, files_.ca});
    if (life) {
      add({path, path, *life});
      // The power was cut between the two: asked with it again, the gateway would send the same certificate.
      if (const Next next = read_next(); !next.key.empty() && text.starts_with(next.key)) remove_file(file(kNext));
    } else {
      log_.write(Level::warn, "a renewed certificate is not used",
                 {{"file", path}, {"reason", life.error().message()}});
    }
  }
  if (const Result<CertificateLife> life = certificate_life(files_.cert); life || pairs_.empty()) {
    add({files_.cert, files_.key, life ? *life : CertificateLife{}});
  }
  used_ = 0;
  refusals_ = 0;
}

DeviceCertificate::Pair DeviceCertificate::pair() const { return pairs_[used_]; }

std::optional<CertificateLife> DeviceCertificate::life() const {
  const CertificateLife& life = pairs_[used_].life;
  return life.end > 0 ? std::optional(life) : std::nullopt;
}

bool DeviceCertificate::note_refused() {
  if (++refusals_ % kRefusalsMax != 0 || pairs_.size() < 2) return false;
  const Pair refused = pair();
  used_ = (used_ + 1) % pairs_.size();
  log_.write(Level::warn, "the broker does not accept this certificate; trying another one",
             {{"refused", refused.cert}, {"next", pair().cert}});
  return true;
}

// What the broker has refused while it accepts another one will not do later: a renewal makes up for it.
void DeviceCertificate::note_accepted() {
  refusals_ = 0;
  if (used_ == 0) return;
  const Pair accepted = pair();
  for (std::size_t at = 0; at < used_; ++at) {
    if (pairs_[at].cert != files_.cert) remove_file(pairs_[at].cert);
  }
  pairs_.erase(pairs_.begin(), pairs_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ = 0;
}

bool DeviceCertificate::take_renewed() { return std::exchange(is_renewed_, false); }

// Key first, request behind it; empty: there is none, or it is damaged.
DeviceCertificate::Next DeviceCertificate::read_next() const {
  const std::string text = content_of(file(kNext));
  const std::size_t at = text.find("-----BEGIN CERTIFICATE REQUEST-----");
  if (at == 0 || at == std::string::npos || !is_pem(std::string_view(text).substr(at), "CERTIFICATE REQUEST"))
    return {};
  return {text.substr(0, at), text.substr(at)};
}

Result<std::string> DeviceCertificate::request() {
  if (Next next = read_next(); !next.request.empty()) return std::move(next.request);
  const Result<std::string> key = make_private_key();
  if (!key) return key.error();
  Result<std::string> request = make_signing_request(*key, files_.node);
  if (!request) return request.error();
  const Status kept = replace_private_file(file(kNext), *key + *request);
  if (!kept.is_success()) return Status::error("cannot keep a new key: " + kept.message());
  return request;
}

Status DeviceCertificate::take(const std::string& certificate) {
  const Next next = read_next();
  const bool is_known = next.request.empty() && content_of(pair().cert).ends_with(certificate);
  if (is_known) return Status::ok();  // it came twice
  if (next.request.empty()) return Status::error("the certificate is for a key that this device does not have");
  const Result<CertificateLife> life = examine_certificate(certificate, {next.key, files_.node, files_.ca});
  if (!life) return life.error();
  if (life->end <= now_() || life->begin > now_() + kEarly) {
    return Status::error("the certificate is valid from " + to_rfc3339(life->begin) + " to " + to_rfc3339(life->end) +
                         ", which is not now");
  }
  if (const Status kept = keep(next.key, certificate); !kept.is_success()) {
    return Status::error("cannot keep the new certificate: " + kept.message());
  }
  log_.write(Level::info, "the certificate was renewed", {{"until", to_rfc3339(life->end)}});
  is_renewed_ = true;
  look();
  return Status::ok();
}

// The key stays beside the request until the pair is complete: until then the gateway sends the certificate again.
Status DeviceCertificate::keep(const std::string& key, const std::string& certificate) {
  remove_file(file(kPrevious));
  if (::link(file(kRenewed).c_str(), file(kPrevious).c_str()) != 0 && errno != ENOENT) {
    return Status::error(file(kPrevious) + ": " + std::strerror(errno));
  }
  const Status kept = replace_private_file(file(kRenewed), key + certificate);
  if (kept.is_success()) remove_file(file(kNext));
  return kept;
}

}  // namespace berth
