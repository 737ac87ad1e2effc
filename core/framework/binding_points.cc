#include "core/framework/binding_points.h"

#include <algorithm>

#include "core/api/pod.h"
#include "core/framework/plugin_faults.h"

namespace berth {

namespace {
constexpr Millis kPermitTimeoutMax = 15 * 60 * 1000;
}  // namespace

Status BindingPoints::run_reserve(CycleState& state, const Pod& pod, const std::string& node) const {
  return recorder_.timed("Reserve", [&]() -> Status {
    for (const auto& entry : plugins_.reserve) {
      Status status =
          recorder_.measured(state, entry, "Reserve", [&] { return entry.plugin->reserve(state, pod, node); });
      if (!status.is_success()) return rejected_or_fault("Reserve", entry.name, std::move(status));
    }
    return {};
  });
}

void BindingPoints::run_unreserve(CycleState& state, const Pod& pod, const std::string& node) const {
  static_cast<void>(recorder_.timed("Unreserve", [&] {
    const auto& plugins = plugins_.reserve;
    for (auto entry = plugins.rbegin(); entry != plugins.rend(); ++entry) entry->plugin->unreserve(state, pod, node);
    return Status();
  }));
}

void BindingPoints::run_restore(CycleState& state, const Pod& pod, const std::string& node,
                                const std::vector<BoundVolume>& bound_volumes) const {
  for (const auto& entry : plugins_.reserve) entry.plugin->restore(state, pod, node, bound_volumes);
}

Status BindingPoints::run_permit(CycleState& state, const Pod& pod, const std::string& node,
                                 std::map<std::string, Millis>& timeouts) const {
  timeouts.clear();
  return recorder_.timed("Permit", [&]() -> Status {
    for (const auto& entry : plugins_.permit) {
      Millis timeout = 0;
      Status status =
          recorder_.measured(state, entry, "Permit", [&] { return entry.plugin->permit(state, pod, node, timeout); });
      if (status.is_wait()) {
        timeouts[entry.name] = std::clamp<Millis>(timeout, 0, kPermitTimeoutMax);
      } else if (!status.is_success()) {
        timeouts.clear();
        return rejected_or_fault("Permit", entry.name, std::move(status));
      }
    }
    if (timeouts.empty()) return {};
    return {Code::wait, "one or more plugins asked to wait and no plugin rejected pod \"" + pod.metadata.key() + "\""};
  });
}

Status BindingPoints::run_pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) const {
  state.skip_pre_bind.reset();
  state.pre_binds_done = 0;
  std::size_t skipped = 0;
  for (const auto& entry : plugins_.pre_bind) {
    Status status = entry.plugin->pre_bind_pre_flight(state, pod, node);
    if (status.is_skip()) {
      state.skip_pre_bind.set(entry.number);
      ++skipped;
    } else if (status.code() == Code::error) {
      return fault("running PreBindPreFlight \"" + entry.name + "\"", entry.name, status);
    } else if (!status.is_success()) {
      return Status::error("PreBindPreFlight " + entry.name + " returned \"" + std::string(to_string(status.code())) +
                           "\", which is unsupported. It is supposed to return Success, Skip, or Error status")
          .with_plugin(entry.name);
    }
  }
  return skipped == plugins_.pre_bind.size() ? Status::skip() : Status();
}

Status BindingPoints::run_pre_bind(CycleState& state, const Pod& pod, const std::string& node,
                                   PlacementRequest& request) const {
  request.provision.clear();
  return recorder_.timed("PreBind", [&]() -> Status {
    for (std::size_t& done = state.pre_binds_done; done < plugins_.pre_bind.size(); ++done) {
      const auto& entry = plugins_.pre_bind[done];
      if (state.skip_pre_bind.test(entry.number)) continue;
      const auto asked_before = static_cast<std::ptrdiff_t>(request.volumes.size());
      Status status = recorder_.measured(state, entry, "PreBind",
                                         [&] { return entry.plugin->pre_bind(state, pod, node, request); });
      if (!status.is_success()) return rejected_or_fault("PreBind", entry.name, std::move(status));
      if (request.provision.empty()) continue;
      request.volumes.erase(request.volumes.begin() + asked_before, request.volumes.end());
      return {};
    }
    return {};
  });
}

Status BindingPoints::run_bind(CycleState& state, const Pod& pod, const std::string& node) const {
  return recorder_.timed("Bind", [&]() -> Status {
    for (const auto& entry : plugins_.bind) {
      Status status = recorder_.measured(state, entry, "Bind", [&] { return entry.plugin->bind(state, pod, node); });
      if (status.is_skip()) continue;
      if (!status.is_success()) return rejected_or_fault("Bind", entry.name, std::move(status));
      return std::move(status).with_plugin(entry.name);
    }
    return Status::skip();
  });
}

void BindingPoints::run_post_bind(CycleState& state, const Pod& pod, const std::string& node) const {
  static_cast<void>(recorder_.timed("PostBind", [&] {
    for (const auto& entry : plugins_.post_bind) entry.plugin->post_bind(state, pod, node);
    return Status();
  }));
}

}  // namespace berth
