#include "plugins/devicerefusals.h"

#include "core/api/node.h"
#include "plugins/no_arguments.h"

namespace berth {

namespace {

struct RefusedState final : StateEntry {
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<RefusedState>(*this); }
  Refusals::Key key = {};
  std::uint64_t changes = 0;  // of the key, as of now
};

}  // namespace

Result<std::unique_ptr<Plugin>> DeviceRefusals::make(const Json& args, Handle& handle) {
  return make_without_arguments<DeviceRefusals>(args, handle);
}

std::vector<EventWithHint> DeviceRefusals::events_to_register() const {
  const auto is_taken_now = [this](const Pod& pod, const EventObjects& objects) {
    if (objects.new_node == nullptr) return Hint::queue;
    const std::string* reason =
        handle_.refusals().reason(handle_.refusals().key_of(pod), std::string(objects.new_node->metadata.name));
    return reason == nullptr ? Hint::queue : Hint::skip;
  };
  return {{{EventResource::node, kAdd | kUpdate, "NodeUpdate"}, is_taken_now}};
}

Status DeviceRefusals::pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) {
  if (!handle_.refusals().is_refused(pod)) return Status::skip();
  auto refused = std::make_unique<RefusedState>();
  refused->key = handle_.refusals().key_of(pod);
  refused->changes = handle_.refusals().changes(refused->key);
  state.write(std::move(refused));
  return {};
}

bool DeviceRefusals::accepts_all(const CycleState& state, const Pod&) const {
  return state.read<RefusedState>() == nullptr;
}

Status DeviceRefusals::judge(const Refusals::Key& key, const std::string& node) const {
  const std::string* reason = handle_.refusals().reason(key, node);
  if (reason == nullptr) return {};
  return Status::unresolvable("node(s) refused the pod: " + *reason);
}

Status DeviceRefusals::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  const auto* refused = state.read<RefusedState>();
  return refused == nullptr ? Status() : judge(refused->key, node.name());
}

Status DeviceRefusals::admit(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (!handle_.refusals().is_refused(pod)) return {};
  return judge(handle_.refusals().key_of(pod), node.name());
}

std::optional<std::string> DeviceRefusals::equivalence_key(const Pod& pod) {
  const Refusals::Key key = handle_.refusals().key_of(pod);
  return std::string(key.begin(), key.end());
}

bool DeviceRefusals::changed(CycleState& state, const Snapshot&, std::vector<std::size_t>&) {
  const auto* refused = state.read<RefusedState>();
  return refused != nullptr && refused->changes == handle_.refusals().changes(refused->key);
}

}  // namespace berth
