#include "firmware-host/gateway/status_pages.h"

#include <algorithm>

namespace berth {

namespace {

constexpr Millis kTickMs = 1000;
constexpr Millis kLateMs = 5000;  // a loop this late counts as not alive

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

HttpResponse not_found() { return {404, "not found; use /healthz, /livez, /readyz, /configz or /metrics\n"}; }

}  // namespace

HttpResponse answer_checks(std::string_view endpoint, std::string_view check, const std::vector<HealthCheck>& checks,
                           std::string_view query) {
  bool verbose = false;
  std::vector<std::string_view> excluded;
  for (const std::string_view part : split(query, '&')) {
    if (part == "verbose" || part.starts_with("verbose=")) verbose = true;
    if (part.starts_with("exclude=")) excluded.push_back(part.substr(8));
  }
  std::string text;
  bool found = check.empty();
  bool failed = false;
  for (const HealthCheck& each : checks) {
    if (!check.empty() && each.name != check) continue;
    found = true;
    const std::string name(each.name);
    if (std::find(excluded.begin(), excluded.end(), each.name) != excluded.end()) {
      text += "[+]" + name + " excluded: ok\n";
    } else if (each.problem.empty()) {
      text += "[+]" + name + " ok" + (each.note.empty() ? "" : ": " + each.note) + "\n";
    } else {
      text += "[-]" + name + " failed: " + each.problem + "\n";
      failed = true;
    }
  }
  if (!found) return not_found();
  const std::string last = std::string(endpoint) + " check " + (failed ? "failed" : "passed") + "\n";
  if (failed) return {500, text + last};
  return {200, verbose ? text + last : "ok"};
}

StatusPages::StatusPages(const Clock& clock, Timers& timers, Gateway& gateway, const Leadership& leadership,
                         Json config)
    : clock_(clock),
      timers_(timers),
      gateway_(gateway),
      leadership_(leadership),
      config_(std::move(config)),
      ticked_(clock.now()) {
  tick();
}

StatusPages::~StatusPages() { timers_.cancel(tick_); }

void StatusPages::tick() {
  ticked_ = clock_.now();
  tick_ = timers_.at(ticked_ + kTickMs, [this] { tick(); });
}

std::vector<HealthCheck> StatusPages::live() const {
  const Millis late = clock_.now() - ticked_ - kTickMs;
  return {{"ping", {}}, {"loop", late < kLateMs ? std::string() : "a turn took " + std::to_string(late) + " ms"}};
}

std::vector<HealthCheck> StatusPages::ready() const {
  std::vector<HealthCheck> checks = live();
  Readiness is = gateway_.readiness();
  if (leadership_.is_link_up()) is.broker.clear();  // which is down to a gateway that does not serve
  checks.push_back({"store", std::move(is.store), gateway_.damaged_stores()});
  checks.push_back({"broker", std::move(is.broker)});
  checks.push_back({"leadership", leadership_.why_waiting()});
  checks.push_back({"synced", std::move(is.synced)});
  if (certificates_) checks.push_back({"certificates", certificates_()});
  return checks;
}

HttpResponse StatusPages::answer(const HttpRequest& request) {
  const std::vector<std::string_view> levels = split(std::string_view(request.path).substr(1), '/');
  if (levels.empty() || levels.size() > 2) return not_found();
  const std::string_view page = levels[0];
  const std::string_view check = levels.size() == 2 ? levels[1] : std::string_view();
  if (page == "healthz" || page == "livez") return answer_checks(page, check, live(), request.query);
  if (page == "readyz") return answer_checks(page, check, ready(), request.query);
  if (!check.empty()) return not_found();
  if (page == "configz") return {200, config_.dump() + "\n", "application/json"};
  if (page != "metrics") return not_found();
  gateway_.measure();
  return {200, gateway_.metrics().text(), "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace berth
