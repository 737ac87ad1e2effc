#include "firmware-host/eviction_settings.h"

#include <array>
#include <charconv>
#include <utility>

#include "core/api/quantity.h"

namespace berth {

namespace {

constexpr std::array<std::pair<EvictionSignal, std::string_view>, 4> kSignals{{
    {EvictionSignal::memory_available, "memory.available"},
    {EvictionSignal::nodefs_available, "nodefs.available"},
    {EvictionSignal::nodefs_inodes_free, "nodefs.inodesFree"},
    {EvictionSignal::pid_available, "pid.available"},
}};
constexpr std::int64_t kLongestSeconds = 86'400;

// Calls read(object, name, signal) for each signal that is a member of the object.
template <class Read>
void read_signals(FieldReader& reader, std::string_view key, Read&& read) {
  reader.read_object(key, [&](FieldReader& object) {
    for (const auto& [signal, name] : kSignals) {
      if (object.has(name)) read(object, name, signal);
    }
  });
}

// What is given replaces all of what was there: an empty object means none.
void read_thresholds(FieldReader& reader, std::string_view key, EvictionThresholds& out) {
  if (reader.has(key)) out.clear();
  read_signals(reader, key, [&](FieldReader& object, std::string_view name, EvictionSignal signal) {
    const Json& value = *object.take(name);
    const Result<EvictionThreshold> threshold = parse_threshold(value.is_string() ? value.as_string() : value.dump());
    if (!threshold) return object.error(name, threshold.error().message());
    if (*threshold != EvictionThreshold()) out[signal] = *threshold;
  });
}

void read_period(FieldReader& reader, std::string_view key, std::int64_t least, Millis& out) {
  std::int64_t seconds = 0;
  if (reader.read_int64(key, seconds, least, kLongestSeconds)) out = seconds * 1000;
}

}  // namespace

std::string_view to_string(EvictionSignal signal) {
  for (const auto& [known, name] : kSignals) {
    if (known == signal) return name;
  }
  return {};
}

Result<EvictionThreshold> parse_threshold(const std::string& text) {
  const Status wrong = Status::error("expected an amount such as 100Mi, or a share such as 10%, got '" + text + "'");
  EvictionThreshold threshold;
  if (text.ends_with('%')) {
    const char* end = text.data() + text.size() - 1;
    const auto [at, error] = std::from_chars(text.data(), end, threshold.percent);
    if (error != std::errc() || at != end || !(threshold.percent >= 0 && threshold.percent < 100)) return wrong;
    return threshold;
  }
  const Result<Quantity> amount = Quantity::parse(text);
  if (!amount || *amount < Quantity()) return wrong;
  threshold.amount = amount->value();
  return threshold;
}

void read_eviction(FieldReader& reader, EvictionSettings& out) {
  read_thresholds(reader, "hard", out.hard);
  read_thresholds(reader, "soft", out.soft);
  read_thresholds(reader, "minimum_reclaim", out.minimum_reclaim);
  if (reader.has("soft_grace_seconds")) out.soft_grace_ms.clear();
  read_signals(reader, "soft_grace_seconds", [&](FieldReader& object, std::string_view name, EvictionSignal signal) {
    read_period(object, name, 0, out.soft_grace_ms[signal]);
  });
  for (const auto& [signal, threshold] : out.soft) {
    if (out.soft_grace_ms.contains(signal)) continue;
    const std::string name(to_string(signal));
    reader.error("soft", "needs soft_grace_seconds of " + name + ", for how long it may last");
  }
  read_period(reader, "max_pod_grace_seconds", 0, out.max_pod_grace_ms);
  read_period(reader, "pressure_transition_seconds", 0, out.transition_ms);
}

}  // namespace berth
