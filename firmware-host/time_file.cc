#include "firmware-host/time_file.h"

#include <charconv>
#include <utility>

#include "firmware-host/real_clock.h"
#include "firmware-host/state_directory.h"
#include "storage/paths.h"
#include "transports/tls_context.h"

namespace berth {

TimeFile::TimeFile(std::string file, Log& log) : file_(std::move(file)), log_(log) {}

Millis TimeFile::read() {
  const Result<std::string> text = read_first_line(file_);
  Millis time = 0;
  if (!text) return 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), time);
  return error == std::errc() && end == text->data() + text->size() ? time : 0;
}

bool TimeFile::write(Millis time) {
  const Status done = replace_private_file(file_, std::to_string(time) + "\n");
  if (done.is_success()) return true;
  log_.write(Level::warn, "cannot keep the time for the next start", {{"error", done.message()}});
  return false;
}

Millis build_day() { return Millis{BERTH_BUILT_SECONDS} * 1000; }

void learn_from(const BrokerSettings& broker, TimeFloor& floor, const Clock& clock, Log& log) {
  for (const std::string& file : {broker.ca_file, broker.cert_file}) {
    const Result<CertificateLife> life = certificate_life(file);
    if (life) floor.raise(life->begin);
  }
  if (!floor.is_clock_behind()) return;
  log.write(Level::warn, "the clock is behind; certificates are judged by a time that has certainly come",
            {{"clock", to_rfc3339(clock.wall())}, {"floor", to_rfc3339(floor.floor())}});
}

}  // namespace berth
