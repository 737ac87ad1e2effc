#include "core/agent/renewal.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace berth {

namespace {

constexpr Millis kMinute = Millis{60} * 1000;
constexpr std::size_t kReasonMax = 300;

}  // namespace

Millis renewal_begins(const CertificateLife& life, std::uint64_t spread) {
  const Millis whole = std::max<Millis>(life.end - life.begin, 0);
  return life.end - whole / 3 + static_cast<Millis>(spread % static_cast<std::uint64_t>(whole / 12 + 1));
}

Renewal::Renewal(const Parts& parts, const Clock& clock, const TimeFloor* floor, Log& log, std::uint64_t spread)
    : parts_(parts), clock_(clock), floor_(floor), log_(log), spread_(spread) {}

bool Renewal::is_due() const {
  const std::optional<CertificateLife> life = parts_.keeper.life();
  const Millis wall = floor_ == nullptr ? clock_.wall() : std::max(clock_.wall(), floor_->floor());
  return clock_.now() >= next_ && life && wall >= renewal_begins(*life, spread_);
}

void Renewal::on_list(const Request& list) {
  if (list.protocol < kSince || !is_due()) return;
  const Result<std::string> request = parts_.keeper.request();
  if (!request) return fail(request.error().message(), kLastRetry);
  next_ = clock_.now() + std::min(kLastRetry, kFirstRetry << std::min(unanswered_++, 10));
  log_.write(Level::info, "asking the gateway for a new certificate", {{"gateway", list.gateway}});
  Answer renew(AnswerType::renew);
  renew.incarnation = parts_.state.incarnation;
  renew.certificate_request = *request;
  parts_.answers.send(list.gateway, std::move(renew));
}

void Renewal::on_connected() {
  if (unanswered_ > 0) next_ = 0;
}

void Renewal::on_certificate(const Request& answer) {
  unanswered_ = 0;
  if (answer.certificate.empty()) {
    const Millis retry = answer.retry_ms > 0 ? std::clamp(answer.retry_ms, kMinute, kRefusedRetry) : kRefusedRetry;
    const bool is_told = answer.refusal.size() <= kReasonMax;
    return fail("the gateway refused" + (is_told ? ": " + answer.refusal : ""), retry);
  }
  const Status taken = parts_.keeper.take(answer.certificate);
  if (!taken.is_success()) return fail(taken.message(), kRefusedRetry);
  next_ = 0;
  problem_.clear();
  parts_.reporter.set_certificate_problem({});
}

void Renewal::fail(const std::string& why, Millis retry) {
  next_ = clock_.now() + retry;
  log_.write(Level::warn, "the certificate was not renewed",
             {{"reason", why}, {"retry_s", std::to_string(retry / 1000)}});
  if (why == problem_) return;
  problem_ = why;
  parts_.reporter.set_certificate_problem(why);
  parts_.reporter.publish_state(parts_.transport.local_address());
}

}  // namespace berth
