// Status and Result<T>: the result of every operation that may fail.
// Codes and their consequences follow kube-scheduler's framework/interface.go (Code, Status).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/shared.h"
#include "core/text.h"

namespace berth {

enum class Code {
  success,
  error,          // internal or transient fault; aborts the cycle
  unschedulable,  // rejected, preemption may help
  unresolvable,   // rejected, preemption cannot help (UnschedulableAndUnresolvable)
  wait,           // Permit only: the pod waits
  skip,           // the plugin has nothing to do; the consequence depends on the extension point
  pending,        // rejected until something outside the scheduler happens, which will cause an event
};

// The name that kube-scheduler prints, e.g. "UnschedulableAndUnresolvable". Static storage.
std::string_view to_string(Code code);

// Copies share reasons and plugin name: code that returns the same status often keeps one and copies it, without an
// allocation.
class [[nodiscard]] Status {
 public:
  using Reasons = std::vector<std::string>;

  Status() = default;  // success
  Status(Code code, std::string reason) : code_(code) { add_reason(std::move(reason)); }
  Status(Code code, Reasons reasons) : code_(code) {
    if (!reasons.empty()) reasons_ = std::move(reasons);
  }

  static Status ok() { return {}; }
  static Status error(std::string reason) { return {Code::error, std::move(reason)}; }
  static Status unschedulable(std::string reason) { return {Code::unschedulable, std::move(reason)}; }
  static Status unresolvable(std::string reason) { return {Code::unresolvable, std::move(reason)}; }
  static Status pending(std::string reason) { return {Code::pending, std::move(reason)}; }
  static Status skip() { return {Code::skip, Reasons()}; }

  Code code() const { return code_; }
  bool is_success() const { return code_ == Code::success; }
  bool is_skip() const { return code_ == Code::skip; }
  bool is_wait() const { return code_ == Code::wait; }
  // Unschedulable, unresolvable or pending: the pod does not fit now, but nothing failed.
  bool is_rejected() const {
    return code_ == Code::unschedulable || code_ == Code::unresolvable || code_ == Code::pending;
  }

  // Each reason names something that the user can act on. Empty on success.
  const Reasons& reasons() const { return reasons_; }
  void add_reason(std::string reason) { reasons_.push_back(std::move(reason)); }
  // Reasons joined by ", ".
  std::string message() const;

  // The plugin that returned this status; empty when none did.
  const Text& plugin() const { return plugin_; }
  Status&& with_plugin(Text plugin) && {
    plugin_ = std::move(plugin);
    return std::move(*this);
  }
  void set_plugin(Text plugin) { plugin_ = std::move(plugin); }

  bool operator==(const Status&) const = default;

 private:
  Code code_ = Code::success;
  Shared<Reasons> reasons_;
  Text plugin_;
};

// A T, or the Status that explains why there is none (never a success status).
template <class T>
class [[nodiscard]] Result : public std::expected<T, Status> {
 public:
  using Base = std::expected<T, Status>;
  using Base::Base;
  Result(Status status) : Base(std::unexpect, std::move(status)) {}
};

}  // namespace berth
