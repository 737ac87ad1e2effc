// What a program knows of the time without its clock, for its TimeFloor (core/time_floor.h): a file, the day on which
// it was built, and the certificates that it connects with.
#pragma once

#include <string>

#include "core/log.h"
#include "core/time_floor.h"
#include "firmware-host/config.h"

namespace berth {

class TimeFile final : public TimeMemory {
 public:
  // The log outlives it.
  TimeFile(std::string file, Log& log);
  Millis read() override;
  bool write(Millis time) override;

 private:
  const std::string file_;
  Log& log_;
};

// The day this program was built.
Millis build_day();

// Raises the floor by the files of a connection: its certificates were issued by then. One that cannot be read says
// nothing. Logs if the clock is behind.
void learn_from(const BrokerSettings& broker, TimeFloor& floor, const Clock& clock, Log& log);

}  // namespace berth
