#include "firmware-host/time_floor.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "firmware-host/real_clock.h"
#include "firmware-host/state_directory.h"
#include "storage/paths.h"
#include "transports/tls_context.h"

namespace berth {

namespace {

constexpr Millis kBuilt = Millis{BERTH_BUILT_SECONDS} * 1000;

}  // namespace

TimeFloor::TimeFloor(std::string file, const Clock& clock, Timers& timers, Log& log)
    : file_(std::move(file)), clock_(clock), timers_(timers), log_(log), floor_(kBuilt) {
  if (const Result<std::string> text = read_first_line(file_)) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), written_);
    if (error != std::errc() || end != text->data() + text->size() || written_ < 0) written_ = 0;
  }
  floor_ = std::max(floor_, written_);
  timer_ = timers_.at(clock_.now() + kFirstWrite, [this] { save_daily(); });
}

TimeFloor::~TimeFloor() { timers_.cancel(timer_); }

void TimeFloor::learn_from(const BrokerSettings& broker) {
  for (const std::string& file : {broker.ca_file, broker.cert_file}) {
    const Result<CertificateLife> life = certificate_life(file);
    if (life) floor_ = std::max(floor_, life->begin);
  }
  if (clock_.wall() < floor_) {
    log_.write(Level::warn, "the clock is behind; certificates are judged by a time that has certainly come",
               {{"clock", to_rfc3339(clock_.wall())}, {"floor", to_rfc3339(floor_)}});
  }
}

void TimeFloor::save() {
  const Millis next = std::min(clock_.wall(), floor_ + kStepMax);
  if (next < floor_ || next - written_ < kWriteEvery) return;
  if (const Status done = replace_private_file(file_, std::to_string(next) + "\n"); !done.is_success()) {
    log_.write(Level::warn, "cannot keep the time for the next start", {{"error", done.message()}});
    return;
  }
  floor_ = written_ = next;
}

void TimeFloor::save_daily() {
  save();
  timer_ = timers_.at(clock_.now() + kWriteEvery, [this] { save_daily(); });
}

}  // namespace berth
