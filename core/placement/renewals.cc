#include "core/placement/renewals.h"

#include <algorithm>

#include "core/placement/certificate_watch.h"

namespace berth {

namespace {

constexpr Millis kSpan = Millis{3600} * 1000;  // of kPerHour
constexpr Millis kSoon = kSpan / 6;
constexpr Millis kMuchLater = 24 * kSpan;

}  // namespace

void Renewals::take(const std::string& node, const std::string& request) {
  const Millis now = context_.clock.now();
  if (context_.nodes.find(node) == nullptr) return;
  const auto [entry, is_first] = asked_.try_emplace(node, Asked{now});
  if (!is_first && now - entry->second.at < kAskEvery) return;
  entry->second.at = now;
  if (context_.options.issuer == nullptr) {
    return refuse(node, "this gateway does not hold the authority of the broker's certificates", kMuchLater);
  }
  if (!is_clock_set(context_.clock.wall())) return refuse(node, "the gateway's clock is not set", kSoon);
  const bool is_waiting =
      std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& each) { return each.first == node; });
  if (is_waiting) return;
  if (waiting_.size() >= kWaitingMax) return refuse(node, "too many devices ask for certificates", kSoon);
  waiting_.emplace_back(node, request);
  next();
}

bool Renewals::is_hour_full() {
  while (!begun_.empty() && context_.clock.now() - begun_.front() >= kSpan) begun_.pop_front();
  return begun_.size() >= kPerHour;
}

void Renewals::next() {
  while (!is_issuing_ && !waiting_.empty()) {
    const auto [node, request] = std::move(waiting_.front());
    waiting_.pop_front();
    if (is_hour_full()) {
      refuse(node, "too many certificates were issued in the last hour", kSpan);
      continue;
    }
    begun_.push_back(context_.clock.now());
    is_issuing_ = true;
    context_.options.issuer->issue(node, request,
                                   [this, name = node](const IssuedCertificate& issued) { finish(name, issued); });
  }
}

void Renewals::finish(const std::string& node, const IssuedCertificate& issued) {
  is_issuing_ = false;
  const auto entry = asked_.find(node);
  const DeviceNode* device = context_.nodes.find(node);
  if (entry != asked_.end() && device != nullptr) {
    if (issued.certificate.empty()) {
      refuse(node, issued.refusal, issued.retry_ms);
    } else {
      entry->second.refusal.clear();
      entry->second.end = certificate_end(*device);
      Request answer(RequestType::certificate);
      answer.certificate = issued.certificate;
      sender_.send(node, std::move(answer));
      context_.publisher.mark(Kind::node, node);
      context_.log.write(Level::info, "certificate issued to a node", {{"node", node}});
    }
  }
  next();
}

void Renewals::refuse(const std::string& node, const std::string& why, Millis retry_ms) {
  Request answer(RequestType::certificate);
  answer.refusal = why;
  answer.retry_ms = retry_ms;
  sender_.send(node, std::move(answer));
  const auto entry = asked_.find(node);
  if (entry == asked_.end() || entry->second.refusal == why) return;
  entry->second.refusal = why;
  context_.publisher.mark(Kind::node, node);
  context_.log.write(Level::warn, "no certificate issued to a node", {{"node", node}, {"reason", why}});
  context_.events.record({Kind::node, node, "Warning", "CertificateNotRenewed", why, node});
}

void Renewals::note_end(const std::string& node, Millis end) {
  const auto entry = asked_.find(node);
  if (entry == asked_.end() || entry->second.end == 0 || end <= entry->second.end) return;
  asked_.erase(entry);
  context_.log.write(Level::info, "a node has renewed its certificate", {{"node", node}});
  context_.events.record({Kind::node, node, "Normal", "CertificateRenewed",
                          "the device connects with a new certificate, which it asked for", node});
}

std::string Renewals::problem(const std::string& node, const DeviceNode& device) const {
  const auto entry = asked_.find(node);
  return entry != asked_.end() && !entry->second.refusal.empty() ? entry->second.refusal : certificate_problem(device);
}

}  // namespace berth
