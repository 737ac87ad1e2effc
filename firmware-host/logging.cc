#include "firmware-host/logging.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <cstdio>

namespace berth {

namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 4> kLevelLabels = {"DEBUG", "INFO", "WARN", "ERROR"};

void append_quoted(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(byte));
      line += code.data();
    } else {
      line += c;
    }
  }
  line += '"';
}

bool needs_quotes(std::string_view text) {
  if (text.empty()) return true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '\\' || c == '=') return true;
  }
  return false;
}

}  // namespace

Result<Level> parse_level(std::string_view text) {
  if (text == "warning") return Level::warn;
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == text) return static_cast<Level>(i);
  }
  return Status::error("log level: expected debug, info, warn or error, got '" + std::string(text) + "'");
}

Result<LogFormat> parse_log_format(std::string_view text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return Status::error("log format: expected text or json, got '" + std::string(text) + "'");
}

std::string format_record(LogFormat format, Level level, std::string_view event, std::initializer_list<Field> fields) {
  const auto index = static_cast<std::size_t>(level);
  std::string line;
  if (format == LogFormat::text) {
    line.append(kLevelLabels[index]).append(" ").append(event);
    for (const Field& field : fields) {
      line.append(" ").append(field.key).append("=");
      if (needs_quotes(field.value)) {
        append_quoted(line, field.value);
      } else {
        line += field.value;
      }
    }
    return line;
  }
  line.append("\"level\":\"").append(kLevelNames[index]).append("\",\"event\":");
  append_quoted(line, event);
  for (const Field& field : fields) {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
    append_quoted(line, field.value);
  }
  return line;
}

SpdLog::SpdLog(Level lowest, LogFormat format)
    : logger_(std::make_unique<spdlog::logger>("berth", std::make_shared<spdlog::sinks::stderr_sink_st>())),
      lowest_(lowest),
      format_(format) {
  const char* pattern =
      format == LogFormat::json ? "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v}" : "%Y-%m-%dT%H:%M:%S.%eZ %v";
  logger_->set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  logger_->set_level(spdlog::level::trace);
  logger_->flush_on(spdlog::level::trace);
}

SpdLog::~SpdLog() = default;

void SpdLog::write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (level < lowest_) return;
  const std::string line = format_record(format_, level, event, fields);
  logger_->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace berth
