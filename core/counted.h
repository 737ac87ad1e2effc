// CountedPtr: shares an object that counts its users itself, as std::shared_ptr with half of the memory: eight bytes
// for each pointer, and no block of counters for the object. There are several pointers to each of tens of thousands of
// pods. Reads like std::shared_ptr, without weak pointers and custom deleters. Not thread-safe.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace berth {

// The number of pointers to an object: its member `users`. A copy of the object is another one, which nobody holds yet.
class Users {
 public:
  Users() = default;
  Users(const Users&) noexcept {}
  Users& operator=(const Users&) noexcept { return *this; }

 private:
  template <class T>
  friend class CountedPtr;
  static constexpr std::uint16_t kMost = 0xFFFF;  // an object that reached it is never freed
  void add() const {
    if (count_ != kMost) ++count_;
  }
  // True: that was the last.
  bool remove() const {
    if (count_ == kMost) return false;
    --count_;
    return count_ == 0;
  }
  mutable std::uint16_t count_ = 0;
};

template <class T>
class CountedPtr {
 public:
  using element_type = T;

  CountedPtr() = default;
  CountedPtr(std::nullptr_t) {}
  // Takes an object of new over, which nobody holds yet.
  explicit CountedPtr(T* made) noexcept : object_(made) { hold(); }
  CountedPtr(const CountedPtr& other) noexcept : object_(other.object_) { hold(); }
  CountedPtr(CountedPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  // To a constant one only: there is no custom deleter that would know the class of what a base is part of.
  template <class U>
    requires std::is_same_v<const U, T>
  CountedPtr(const CountedPtr<U>& other) noexcept : object_(other.object_) {
    hold();
  }
  template <class U>
    requires std::is_same_v<const U, T>
  CountedPtr(CountedPtr<U>&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  // By value: `other` may be, or hold, what this pointer keeps alive.
  CountedPtr& operator=(CountedPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~CountedPtr() {
    if (object_ != nullptr && object_->users.remove()) free_last(object_);
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset() { *this = CountedPtr(); }
  std::uint32_t use_count() const { return object_ == nullptr ? 0 : object_->users.count_; }

  template <class U>
  bool operator==(const CountedPtr<U>& other) const {
    return object_ == other.get();
  }
  bool operator==(std::nullptr_t) const { return object_ == nullptr; }
  std::strong_ordering operator<=>(const CountedPtr& other) const {
    return std::compare_three_way()(object_, other.object_);
  }

 private:
  template <class U>
  friend class CountedPtr;
  void hold() const {
    if (object_ != nullptr) object_->users.add();
  }

  // Once: what an object is made of would otherwise be freed at hundreds of places.
  [[gnu::noinline]] static void free_last(T* object) { delete object; }

  T* object_ = nullptr;
};

template <class T, class... Args>
CountedPtr<T> make_counted(Args&&... args) {
  return CountedPtr<T>(new T(std::forward<Args>(args)...));
}

}  // namespace berth
