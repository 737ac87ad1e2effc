// Log interface: structured records for the operator; nothing in core reads them back.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace berth {

enum class Level { debug, info, warn, error };

struct Field {
  std::string_view key;
  std::string value;
};

class Log {
 public:
  virtual ~Log() = default;
  // `event` is a short constant phrase ("pod bound"); everything variable goes into `fields`.
  virtual void write(Level level, std::string_view event, std::initializer_list<Field> fields) = 0;
};

}  // namespace berth
