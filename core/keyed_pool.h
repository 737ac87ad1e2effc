// KeyedPool: objects by a key that they hold themselves, in slots that do not move: a reference lives until its object
// is erased. Reads like an unordered map; objects may be added and erased while it is iterated. Beside the object it
// takes a dozen bytes for each.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/key_index.h"
#include "core/slot_pool.h"
#include "core/text.h"

namespace berth {

// `KeyOf()(object)`: its key, a const Text&, which stays the same and is empty in a T{} only.
template <class T, class KeyOf>
class KeyedPool {
 public:
  using Index = KeyIndex::Index;
  static constexpr Index kNone = KeyIndex::kNone;

  // As of a map.
  template <class Value>
  struct Item {
    const Text& first;
    Value& second;
    Item* operator->() { return this; }
  };
  template <class Pool, class Value>
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Item<Value>;
    using difference_type = std::ptrdiff_t;
    using pointer = Item<Value>;
    using reference = Item<Value>;

    Iterator(Pool* pool, Index index) : pool_(pool), index_(index) {}
    Item<Value> operator*() const { return {KeyOf()((*pool_)[index_]), (*pool_)[index_]}; }
    Item<Value> operator->() const { return **this; }
    Iterator& operator++() {
      index_ = pool_->next_used(index_ + 1);
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, Iterator(pool_, pool_->next_used(index_ + 1))); }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    friend KeyedPool;
    Pool* pool_;
    Index index_;
  };
  using iterator = Iterator<KeyedPool, T>;
  using const_iterator = Iterator<const KeyedPool, const T>;

  iterator begin() { return {this, next_used(0)}; }
  iterator end() { return {this, kNone}; }
  const_iterator begin() const { return {this, next_used(0)}; }
  const_iterator end() const { return {this, kNone}; }
  std::size_t size() const { return index_.size(); }
  bool empty() const { return size() == 0; }

  iterator find(std::string_view key) { return {this, index_of(key)}; }
  const_iterator find(std::string_view key) const { return {this, index_of(key)}; }
  bool contains(std::string_view key) const { return index_of(key) != kNone; }
  std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }
  T& at(std::string_view key) { return (*this)[known(key)]; }
  const T& at(std::string_view key) const { return (*this)[known(key)]; }

  // The number of an object's slot, which a later object gets once it is erased; kNone: no such key.
  Index index_of(std::string_view key) const { return index_.find(key, is(key)); }
  T& operator[](Index index) { return slots_[index]; }
  const T& operator[](Index index) const { return slots_[index]; }
  // All indices are below.
  std::size_t slots() const { return slots_.size(); }
  // The first index from this one on that has an object; kNone: none has.
  Index next_used(Index from) const {
    while (from < slots_.size() && KeyOf()(slots_[from]).empty()) ++from;
    return from < slots_.size() ? from : kNone;
  }

  // Its key must be new.
  Index add(T object) {
    const std::string_view key = KeyOf()(object);
    CHECK(!key.empty());
    const Index index = slots_.take();
    index_.insert(key, index);
    slots_[index] = std::move(object);
    return index;
  }
  // The index of the object that has the key, and whether it is new: then it is what `make()` returned.
  template <class Make>
  std::pair<Index, bool> find_or_add(std::string_view key, const Make& make) {
    CHECK(!key.empty());
    return index_.find_or_insert(key, is(key), [&] {
      const Index index = slots_.take();
      slots_[index] = make();
      return index;
    });
  }
  void erase(Index index) {
    index_.erase(KeyOf()(slots_[index]), [index](Index other) { return other == index; });
    slots_.give_back(index);
  }
  void erase(iterator at) { erase(at.index_); }

 private:
  auto is(std::string_view key) const {
    return [this, key](Index index) { return KeyOf()(slots_[index]) == key; };
  }
  Index known(std::string_view key) const {
    const Index index = index_of(key);
    CHECK(index != kNone);
    return index;
  }

  SlotPool<T> slots_;
  KeyIndex index_;
};

}  // namespace berth
