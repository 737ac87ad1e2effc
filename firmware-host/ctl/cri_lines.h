// CriLines: prints the lines of a device's log (firmware-host/agent/container_log.h) as kubectl does: their content, or
// with the time before each.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace berth {

class CriLines {
 public:
  CriLines(std::ostream& out, bool has_times) : out_(out), has_times_(has_times) {}

  // Any part of a log, in order. What is no line of that form is printed as it is.
  void print(std::string_view bytes);
  // Of a line that never ended.
  void finish();

 private:
  void print_line(std::string_view line);

  std::ostream& out_;
  const bool has_times_;
  bool is_in_line_ = false;  // the line before was printed without its end
  std::string rest_;
};

}  // namespace berth
