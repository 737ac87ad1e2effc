// SpdLog: the log of a program, one line per record on standard error. Only logging.cc includes spdlog.
//
//   text  2026-11-20T09:08:07.123Z INFO pod bound pod=default/web node=n1 reason="two words"
//   json  {"time":"2026-11-20T09:08:07.123Z","level":"info","event":"pod bound","pod":"default/web","node":"n1"}
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/log.h"
#include "core/status.h"

namespace spdlog {
class logger;
}

namespace berth {

enum class LogFormat { text, json };

// "debug", "info", "warn" (or "warning"), "error".
Result<Level> parse_level(std::string_view text);
// "text", "json".
Result<LogFormat> parse_log_format(std::string_view text);

// One record as a line, without timestamp and newline. Control characters are escaped in both formats, so that a value
// from the network cannot forge a line.
std::string format_record(LogFormat format, Level level, std::string_view event, std::initializer_list<Field> fields);

class SpdLog final : public Log {
 public:
  SpdLog(Level lowest, LogFormat format);
  ~SpdLog() override;
  SpdLog(const SpdLog&) = delete;
  SpdLog& operator=(const SpdLog&) = delete;

  void write(Level level, std::string_view event, std::initializer_list<Field> fields) override;

 private:
  std::unique_ptr<spdlog::logger> logger_;
  Level lowest_;
  LogFormat format_;
};

}  // namespace berth
