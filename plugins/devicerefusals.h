// DeviceRefusals: keeps a pod off nodes whose device has refused it, or one like it, with the reason that the device
// gave. Upstream has no such plugin: a kubelet that rejects a pod fails it for good, and a controller makes another
// one. Points: PreFilter (Skip for a pod that nobody refuses), Filter. Cost: a hash of the manifest while anybody
// refuses anything. Requeued by: a refusal that ends, and nodes that come or change.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class DeviceRefusals final : public PreFilterPlugin,
                             public FilterPlugin,
                             public AdmissionPlugin,
                             public EnqueueExtensions,
                             public TrackingPlugin {
 public:
  static constexpr std::string_view kName = Refusals::kFilter;
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  explicit DeviceRefusals(Handle& handle) : handle_(handle) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod& pod, Point) const override {
    return handle_.refusals().is_refused(pod) ? Reads::objects : Reads::node;
  }
  bool tells_apart(const Pod& a, const Pod& b) const override {
    return handle_.refusals().is_refused(a) || handle_.refusals().is_refused(b);
  }
  bool accepts_all(const CycleState& state, const Pod& pod) const override;
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  std::optional<std::string> equivalence_key(const Pod& pod) override;
  bool changed(CycleState& state, const Snapshot& snapshot, std::vector<std::size_t>& indices) override;

 private:
  Status judge(const Refusals::Key& key, const std::string& node) const;

  Handle& handle_;
};

}  // namespace berth
