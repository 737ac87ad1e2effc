#include "firmware-host/ctl/cri_lines.h"

#include "core/streams/frame.h"

namespace berth {

void CriLines::print(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      rest_.append(bytes);
      if (rest_.size() >= kStreamFrameBytes) finish();
      return;
    }
    if (rest_.empty()) {
      print_line(bytes.substr(0, end));
    } else {
      rest_.append(bytes.substr(0, end));
      print_line(rest_);
      rest_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

void CriLines::finish() {
  out_ << rest_;
  rest_.clear();
}

// "<time> stdout|stderr F|P <content>"
void CriLines::print_line(std::string_view line) {
  const std::size_t time = line.find(' ');
  const std::string_view behind = time == std::string_view::npos ? "" : line.substr(time + 1);
  const bool is_cri = (behind.starts_with("stdout ") || behind.starts_with("stderr ")) && behind.size() > 9 &&
                      (behind[7] == 'F' || behind[7] == 'P') && behind[8] == ' ';
  const bool is_empty = behind == "stdout F " || behind == "stderr F ";
  if (!is_cri && !is_empty) {
    out_ << line << '\n';
    return;
  }
  if (has_times_ && !is_in_line_) out_ << line.substr(0, time + 1);
  out_ << behind.substr(9);
  is_in_line_ = behind[7] == 'P';
  if (!is_in_line_) out_ << '\n';
}

}  // namespace berth
