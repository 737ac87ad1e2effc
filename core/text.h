// Text: a reference-counted, copy-on-write string that many objects hold, such as a uid, a node's name or a namespace.
// Four bytes, of which a pod and its binding have a dozen; its block (blocks.h) has four more than its characters (a
// long one also stores its size); the empty string has none. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "core/blocks.h"

namespace berth {

class Text {
 public:
  Text() = default;
  Text(std::string_view text) : block_(text.empty() ? Blocks::kNone : make(text)) {}
  Text(const std::string& text) : Text(std::string_view(text)) {}
  Text(const char* text) : Text(std::string_view(text)) {}
  // Interned: all callers share one copy for as long as any of them holds it. For strings that are rarely unique.
  static Text common(std::string_view text);

  Text(const Text& other) noexcept : block_(other.block_) {
    if (block_ != Blocks::kNone) hold();
  }
  Text(Text&& other) noexcept : block_(std::exchange(other.block_, Blocks::kNone)) {}
  Text& operator=(Text other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Text() {
    if (block_ != Blocks::kNone) let_go();
  }

  std::string_view get() const { return block_ == Blocks::kNone ? std::string_view() : characters(); }
  operator std::string_view() const { return get(); }
  // A copy, for code that holds a std::string.
  operator std::string() const { return std::string(get()); }
  // Mutable access as a std::string until the end of the full expression.
  class Edit;
  Edit edit();
  bool empty() const { return block_ == Blocks::kNone; }
  void clear() { *this = Text(); }
  std::size_t size() const { return get().size(); }

  friend bool operator==(const Text& a, const Text& b) { return a.block_ == b.block_ || a.get() == b.get(); }
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
  // Out of line: there are thousands of callers.
  static Blocks::Handle make(std::string_view text);
  void hold() const;
  void let_go();
  [[gnu::pure]] std::string_view characters() const;

  Blocks::Handle block_ = Blocks::kNone;
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
