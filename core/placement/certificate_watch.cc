#include "core/placement/certificate_watch.h"

#include <limits>

#include "core/json/json.h"

namespace berth {

namespace {

constexpr Millis kDay = Millis{24} * 3600 * 1000;
constexpr std::size_t kProblemMax = 512;

}  // namespace

Millis certificate_end(const DeviceNode& device) {
  if (device.facts.is_null() || device.facts.text().find("certificateExpires") == std::string_view::npos) return 0;
  const Json facts = device.facts.json();
  const Json* end = facts.find("certificateExpires");
  const std::uint64_t number = end == nullptr ? 0 : Nodes::number(*end);
  return number > static_cast<std::uint64_t>(std::numeric_limits<Millis>::max() / 2) ? 0 : static_cast<Millis>(number);
}

std::string why_certificate_expires(const std::string& node, Millis end, Millis wall, const std::string& problem) {
  if (end == 0 || end - wall > kCertificateWarning) return {};
  const std::string days = std::to_string((end > wall ? end - wall : wall - end) / kDay);
  return "the certificate that the device connects with " +
         (end > wall ? "expires in " + days + " days" : "expired " + days + " days ago") +
         (problem.empty() ? "" : ", and was not renewed: " + problem) + ": run `berthctl enroll " + node +
         " --renew` on the gateway and copy its files to the device";
}

std::string certificate_problem(const DeviceNode& device) {
  if (device.facts.is_null() || device.facts.text().find("certificateProblem") == std::string_view::npos) return {};
  const Json facts = device.facts.json();
  const Json* problem = facts.find("certificateProblem");
  return problem != nullptr && problem->is_string() && problem->as_string().size() <= kProblemMax ? problem->as_string()
                                                                                                  : std::string();
}

std::string CertificateWatch::note(const std::string& node, const DeviceNode& device, Millis wall,
                                   const std::string& problem) {
  const Millis end = certificate_end(device);
  std::string why = why_certificate_expires(node, end, wall, problem);
  const auto reported = reported_.find(node);
  if (reported != reported_.end() && reported->second == end && !why.empty()) return {};
  if (why.empty()) {
    reported_.erase(node);
  } else {
    reported_.insert_or_assign(node, end);
  }
  return why;
}

}  // namespace berth
