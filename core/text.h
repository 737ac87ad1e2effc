// Text: a string that many objects hold and one allocation has, such as a uid, a node's name or a namespace. Copies
// share it; who changes his copy gets one of his own. Eight bytes; none for the empty text. Not for several threads.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

class Text {
 public:
  Text() = default;
  Text(std::string text) : part_(text.empty() ? nullptr : new Part{std::move(text)}) {}
  Text(std::string_view text) : Text(std::string(text)) {}
  Text(const char* text) : Text(std::string(text)) {}
  // The same text as everybody else's who asked so, while somebody has it: for what is seldom one's own.
  static Text common(std::string_view text);

  Text(const Text& other) noexcept : part_(other.part_) {
    if (part_ != nullptr) ++part_->users;
  }
  Text(Text&& other) noexcept : part_(std::exchange(other.part_, nullptr)) {}
  Text& operator=(Text other) noexcept {
    std::swap(part_, other.part_);
    return *this;
  }
  ~Text() {
    if (part_ != nullptr && --part_->users == 0) drop();
  }

  const std::string& get() const { return part_ == nullptr ? none() : part_->text; }
  // To be changed. It is nobody else's from now on.
  std::string& edit();
  operator const std::string&() const { return get(); }
  operator std::string_view() const { return get(); }
  bool empty() const { return part_ == nullptr || part_->text.empty(); }
  void clear() { *this = Text(); }
  std::size_t size() const { return get().size(); }

  friend bool operator==(const Text& a, const Text& b) { return a.part_ == b.part_ || a.get() == b.get(); }
  friend bool operator==(const Text& a, std::string_view b) { return a.get() == b; }
  friend bool operator==(const Text& a, const std::string& b) { return a.get() == b; }
  friend bool operator==(const Text& a, const char* b) { return a.get() == b; }
  friend auto operator<=>(const Text& a, const Text& b) { return a.get() <=> b.get(); }
  friend auto operator<=>(const Text& a, const std::string& b) { return a.get() <=> b; }
  friend auto operator<=>(const Text& a, std::string_view b) { return a.get() <=> b; }
  friend std::string operator+(const Text& a, const std::string& b) { return a.get() + b; }
  friend std::string operator+(const std::string& a, const Text& b) { return a + b.get(); }
  friend std::ostream& operator<<(std::ostream& out, const Text& text) { return out << text.get(); }

 private:
  struct Part {
    std::string text;
    std::uint32_t users = 1;
    bool common = false;
  };
  static const std::string& none();
  void drop();

  Part* part_ = nullptr;
};

}  // namespace berth
