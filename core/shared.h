// Shared: a reference-counted, copy-on-write part of an object (containers, labels, tolerations) that is equal in other
// objects of its workload and stored once for all of them. It reads like the list or map it holds. Eight bytes; nothing
// on the heap when empty. Not thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace berth {

struct NoItems {};
template <class T>
struct ItemsOf {
  using type = NoItems;
};
template <class T>
  requires requires { typename T::value_type; }
struct ItemsOf<T> {
  using type = typename T::value_type;
};

template <class T>
class Shared {
 public:
  using value_type = typename ItemsOf<T>::type;  // NoItems where T is not a container

  Shared() = default;
  Shared(T value) : part_(new Part{std::move(value)}) {}
  Shared(std::initializer_list<value_type> items) : Shared(T(items)) {}
  // Interned by packed form: all callers with the same `packed` share one value for as long as any of them holds it.
  // make(value) fills in a new one; none when it returns false.
  template <class Make>
  static std::optional<Shared> common(std::string_view packed, const Make& make);

  Shared(const Shared& other) noexcept : part_(other.part_) {
    if (part_ != nullptr) ++part_->users;
  }
  Shared(Shared&& other) noexcept : part_(std::exchange(other.part_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(part_, other.part_);
    return *this;
  }
  ~Shared() {
    if (part_ != nullptr && --part_->users == 0) drop();
  }

  const T& get() const { return part_ == nullptr ? none() : part_->value; }
  // Mutable access; copies the value first when it is shared or interned.
  T& edit();
  // The packed form; null unless interned by common().
  const std::string* packed() const {
    return part_ == nullptr || part_->common == nullptr ? nullptr : &part_->common->packed;
  }
  bool is_none() const { return part_ == nullptr; }

  operator const T&() const { return get(); }
  operator T&() { return edit(); }
  const T& operator*() const { return get(); }
  const T* operator->() const { return &get(); }
  T* operator->() { return &edit(); }
  friend bool operator==(const Shared& a, const Shared& b) { return a.part_ == b.part_ || a.get() == b.get(); }

  bool empty() const { return get().empty(); }
  std::size_t size() const { return get().size(); }
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  auto begin() { return edit().begin(); }
  auto end() { return edit().end(); }
  const auto& front() const { return get().front(); }
  const auto& back() const { return get().back(); }
  auto& front() { return edit().front(); }
  auto& back() { return edit().back(); }
  const auto& operator[](std::size_t at) const { return get()[at]; }
  template <class Key>
  auto& operator[](const Key& key) {
    return edit()[key];
  }
  template <class Key>
  const auto& at(const Key& key) const {
    return get().at(key);
  }
  template <class Key>
  auto find(const Key& key) const {
    return get().find(key);
  }
  template <class Key>
  auto find(const Key& key) {
    return edit().find(key);
  }
  template <class Key>
  bool contains(const Key& key) const {
    return get().contains(key);
  }
  template <class Key>
  std::size_t count(const Key& key) const {
    return get().count(key);
  }

  void clear() { *this = Shared(); }
  void push_back(value_type item) { edit().push_back(std::move(item)); }
  template <class... Args>
  decltype(auto) emplace_back(Args&&... args) {
    return edit().emplace_back(std::forward<Args>(args)...);
  }
  template <class... Args>
  auto emplace(Args&&... args) {
    return edit().emplace(std::forward<Args>(args)...);
  }
  template <class... Args>
  auto insert_or_assign(Args&&... args) {
    return edit().insert_or_assign(std::forward<Args>(args)...);
  }
  template <class Key>
  auto erase(const Key& key) {
    return edit().erase(key);
  }

 private:
  struct Part;
  using Parts = std::unordered_map<std::string_view, Part*>;
  struct Common {
    std::string packed;
    Parts& parts;  // the table that has it
  };
  struct Part {
    T value;
    std::uint32_t users = 1;
    std::unique_ptr<const Common> common = nullptr;  // null: not interned
  };
  // Never destroyed: a static object that holds a part may outlive the table.
  static Parts& common_parts() {
    static Parts& parts = *new Parts();
    return parts;
  }
  static const T& none() {
    static const T& value = *new T();
    return value;
  }
  void drop() {
    if (part_->common != nullptr) part_->common->parts.erase(part_->common->packed);
    delete part_;
  }

  Part* part_ = nullptr;
};

template <class T>
template <class Make>
std::optional<Shared<T>> Shared<T>::common(std::string_view packed, const Make& make) {
  Shared result;
  Parts& parts = common_parts();
  if (const auto found = parts.find(packed); found != parts.end()) {
    result.part_ = found->second;
    ++result.part_->users;
    return result;
  }
  auto part = std::make_unique<Part>();
  if (!make(part->value)) return std::nullopt;
  part->common.reset(new Common{std::string(packed), parts});
  parts.emplace(part->common->packed, part.get());
  result.part_ = part.release();
  return result;
}

template <class T>
T& Shared<T>::edit() {
  if (part_ == nullptr || part_->users > 1 || part_->common != nullptr) {
    Shared own{T(get())};
    std::swap(part_, own.part_);
  }
  return part_->value;
}

// The same where many are read and few are made: only edit() can change it, so that no reader takes a copy unawares.
template <class T>
class SharedPart : public Shared<T> {
 public:
  using Shared<T>::Shared;
  SharedPart(Shared<T> shared) : Shared<T>(std::move(shared)) {}
  operator const T&() const { return this->get(); }
  const T* operator->() const { return &this->get(); }
};

// The same for an optional value, with std::optional's interface.
template <class T>
class SharedOptional {
 public:
  SharedOptional() = default;
  SharedOptional(std::nullopt_t) {}
  SharedOptional(T value) : shared(std::optional<T>(std::move(value))) {}
  SharedOptional(std::optional<T> value) : shared(std::move(value)) {}

  bool has_value() const { return shared->has_value(); }
  explicit operator bool() const { return has_value(); }
  operator const std::optional<T>&() const { return shared.get(); }
  const T& operator*() const { return **shared; }
  const T* operator->() const { return &**shared; }
  T& operator*() { return *shared.edit(); }
  T* operator->() { return &*shared.edit(); }
  T& emplace() { return shared.edit().emplace(); }
  void reset() { shared = Shared<std::optional<T>>(); }
  bool operator==(const SharedOptional&) const = default;

  Shared<std::optional<T>> shared;
};

}  // namespace berth
