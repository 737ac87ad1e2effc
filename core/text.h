// Text: a reference-counted, copy-on-write string that many objects hold, such as a uid, a node's name or a namespace.
// The size of a pointer; on the heap four bytes more than its characters (a long one also stores its size), nothing for
// the empty string. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

class Text {
 public:
  Text() = default;
  Text(std::string_view text) : part_(text.empty() ? nullptr : make(text)) {}
  Text(const std::string& text) : Text(std::string_view(text)) {}
  Text(const char* text) : Text(std::string_view(text)) {}
  // Interned: all callers share one copy for as long as any of them holds it. For strings that are rarely unique.
  static Text common(std::string_view text);

  Text(const Text& other) noexcept : part_(other.part_) {
    if (part_ != nullptr && part_->users != kUsersMax) ++part_->users;
  }
  Text(Text&& other) noexcept : part_(std::exchange(other.part_, nullptr)) {}
  Text& operator=(Text other) noexcept {
    std::swap(part_, other.part_);
    return *this;
  }
  ~Text() {
    if (part_ == nullptr || part_->users == kUsersMax) return;
    --part_->users;
    if (part_->users == 0) drop();
  }

  std::string_view get() const { return part_ == nullptr ? std::string_view() : part_->text(); }
  operator std::string_view() const { return get(); }
  // A copy, for code that holds a std::string.
  operator std::string() const { return std::string(get()); }
  // Mutable access as a std::string until the end of the full expression.
  class Edit;
  Edit edit();
  bool empty() const { return part_ == nullptr; }
  void clear() { *this = Text(); }
  std::size_t size() const { return get().size(); }

  friend bool operator==(const Text& a, const Text& b) { return a.part_ == b.part_ || a.get() == b.get(); }
  friend bool operator==(const Text& a, std::string_view b) { return a.get() == b; }
  friend bool operator==(const Text& a, const std::string& b) { return a.get() == b; }
  friend bool operator==(const Text& a, const char* b) { return a.get() == b; }
  friend auto operator<=>(const Text& a, const Text& b) { return a.get() <=> b.get(); }
  friend auto operator<=>(const Text& a, const std::string& b) { return a.get() <=> b; }
  friend auto operator<=>(const Text& a, std::string_view b) { return a.get() <=> b; }
  friend std::string operator+(const Text& a, std::string_view b) { return std::string(a.get()).append(b); }
  friend std::string operator+(const std::string& a, const Text& b) { return std::string(a).append(b.get()); }
  friend std::ostream& operator<<(std::ostream& out, const Text& text) { return out << text.get(); }

 private:
  static constexpr std::uint32_t kUsersMax = (1u << 20) - 1;  // a text that reached it is never freed
  static constexpr std::uint32_t kLong = (1u << 11) - 1;
  // Header of the allocation; the characters follow, after the size if the text is long.
  struct Part {
    std::uint32_t users : 20;
    std::uint32_t common : 1;
    std::uint32_t bytes : 11;  // kLong: does not fit here
    const char* behind() const { return reinterpret_cast<const char*>(this + 1); }
    std::string_view text() const { return bytes == kLong ? long_text() : std::string_view(behind(), bytes); }
    std::string_view long_text() const;
  };
  static Part* make(std::string_view text);
  void drop();

  Part* part_ = nullptr;
};

class Text::Edit {
 public:
  explicit Edit(Text& text) : text_(text), edited_(text) {}
  Edit(const Edit&) = delete;
  Edit& operator=(const Edit&) = delete;
  ~Edit() { text_ = Text(edited_); }
  operator std::string&() { return edited_; }

 private:
  Text& text_;
  std::string edited_;
};

// For unordered maps by text, in which any string is looked up.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

inline Text::Edit Text::edit() { return Edit(*this); }

}  // namespace berth
