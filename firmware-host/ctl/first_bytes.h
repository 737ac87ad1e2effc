// FirstBytes: an output that keeps the beginning of what is written to it, and takes the rest without keeping it: a
// container may say more than this machine has memory for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>

namespace berth {

class FirstBytes final : private std::streambuf, public std::ostream {
 public:
  static constexpr std::size_t kBytesMax = 4096;

  FirstBytes() : std::ostream(this) {}
  const std::string& text() const { return text_; }
  void clear_text() { text_.clear(); }

 private:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    text_.append(bytes, std::min(static_cast<std::size_t>(count), kBytesMax - text_.size()));
    return count;
  }
  int overflow(int byte) override {
    const char one = static_cast<char>(byte);
    if (byte != std::char_traits<char>::eof()) xsputn(&one, 1);
    return 0;  // not the end
  }

  std::string text_;
};

}  // namespace berth
