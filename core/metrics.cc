#include "core/metrics.h"

#include <array>
#include <charconv>
#include <type_traits>

namespace berth {

namespace {

std::string to_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

void append_escaped(std::string& text, std::string_view value, bool quotes) {
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else {
      if (c == '\\' || (quotes && c == '"')) text += '\\';
      text += c;
    }
  }
}

// {a="x",le="0.5"}; nothing without labels. An empty `le` is left out.
void append_labels(std::string& text, const std::vector<std::string>& labels, const std::vector<std::string>& values,
                   std::string_view le = {}) {
  std::string inside;
  for (std::size_t i = 0; i < labels.size() && i < values.size(); ++i) {
    inside += (inside.empty() ? "" : ",") + labels[i] + "=\"";
    append_escaped(inside, values[i], true);
    inside += '"';
  }
  if (!le.empty()) inside += std::string(inside.empty() ? "" : ",") + "le=\"" + std::string(le) + '"';
  if (!inside.empty()) text += '{' + inside + '}';
}

}  // namespace

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(bucket)];
  ++count_;
  sum_ += value;
}

std::vector<double> exponential_buckets(double start, double factor, int count) {
  std::vector<double> bounds;
  for (int i = 0; i < count; ++i) {
    bounds.push_back(start);
    start *= factor;
  }
  return bounds;
}

// "# HELP" and "# TYPE", then a line per member and, of a histogram, per bucket.
template <class T>
void Family<T>::render(std::string& text) const {
  if (members_.empty()) return;
  text += "# HELP ";
  text += name_;
  text += ' ';
  append_escaped(text, help_, false);
  text += "\n# TYPE ";
  text += name_;
  text += std::is_same_v<T, Counter> ? " counter\n" : std::is_same_v<T, Gauge> ? " gauge\n" : " histogram\n";
  for (const auto& [values, member] : members_) {
    auto line = [&](std::string_view suffix, std::string_view le, const std::string& value) {
      text += name_;
      text += suffix;
      append_labels(text, labels_, values, le);
      text += ' ' + value + '\n';
    };
    if constexpr (std::is_same_v<T, Histogram>) {
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < member.bounds().size(); ++i) {
        below += member.counts()[i];
        line("_bucket", to_text(member.bounds()[i]), std::to_string(below));
      }
      line("_bucket", "+Inf", std::to_string(member.count()));
      line("_sum", {}, to_text(member.sum()));
      line("_count", {}, std::to_string(member.count()));
    } else {
      line({}, {}, std::to_string(member.value()));
    }
  }
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

std::string Metrics::text() const {
  std::string text;
  auto render = [&text](const auto&... family) { (family.render(text), ...); };
  render(schedule_attempts, attempt_duration, algorithm_duration, sli_duration, attempts, point_duration,
         plugin_duration, plugin_evaluations, incoming_pods, hint_duration, inflight_events, pending_pods,
         unschedulable_pods, cache_size, permit_wait, preemption_attempts, preemption_victims, nodes, rows, releases,
         objects, ready, messages, store_commits, store_bytes, resident_memory, memory_limit, scheduling_cache,
         accepting, connections, turn_duration, commit_wait);
  return text;
}

}  // namespace berth
