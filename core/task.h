// Task: the coroutine type of the binding cycle, and Mailbox, the one thing it may wait for. Single-threaded; Asio
// stays out of core (core/README.md). GCC 12: co_await stands alone or as a whole initialiser, parameters are
// references to what outlives the task or plain values (tests/lint checks the shapes it miscompiles).
#pragma once

#include <coroutine>
#include <exception>
#include <utility>
#include <vector>

namespace berth {

// Starts at once, runs until its first wait. Owns its frame: dropping the Task drops the coroutine where it stands,
// which is how a crash looks in the simulator. Must not be dropped from inside itself.
class [[nodiscard]] Task {
 public:
  struct promise_type {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }
  bool is_begun() const { return handle_ != nullptr; }
  bool is_done() const { return is_begun() && handle_.done(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// Values for one waiting coroutine. push() resumes it before returning.
template <class T>
class Mailbox {
 public:
  void push(T value) {
    values_.push_back(std::move(value));
    if (waiting_) std::exchange(waiting_, nullptr).resume();
  }
  bool is_empty() const { return values_.empty(); }
  // co_await mailbox.next(): the oldest value, waiting when there is none.
  auto next() {
    struct Awaiter {
      Mailbox& box;
      bool await_ready() const noexcept { return !box.values_.empty(); }
      void await_suspend(std::coroutine_handle<> handle) noexcept { box.waiting_ = handle; }
      T await_resume() {
        T value = std::move(box.values_.front());
        box.values_.erase(box.values_.begin());
        if (box.values_.empty()) std::vector<T>().swap(box.values_);  // it waits for months
        return value;
      }
    };
    return Awaiter{*this};
  }

 private:
  std::vector<T> values_;  // one or two at most; an empty deque would take half a KiB for each pod
  std::coroutine_handle<> waiting_;
};

}  // namespace berth
