#include "core/gateway/dispatcher.h"

#include "core/api/names.h"

namespace berth {

namespace {

constexpr std::size_t kMaxNodes = 20'000;  // a node is kept for each authenticated name that ever sent anything

bool is_pod_status(const std::vector<std::string_view>& levels) {
  return levels.size() == 5 && levels[0] == "nodes" && levels[2] == "pods";
}

std::string pod_key_of(const std::vector<std::string_view>& levels) {
  return std::string(levels[3]) + "/" + std::string(levels[4]);
}

}  // namespace

Dispatcher::Dispatcher(const PlacementContext& context, Placement& placement, DesiredInbox& desired, Api& api,
                       std::function<void()> on_synced)
    : context_(context),
      placement_(placement),
      desired_(desired),
      api_(api),
      on_synced_(std::move(on_synced)),
      received_(context.metrics.messages.at({"in"})),
      inboxes_(context.clock, context.timers, context.log,
               [this](const Message& message) { dispatch(context_.topics.split(message.topic), message); }) {}

void Dispatcher::take(const Message& message) {
  received_.add();
  if (is_routine_heartbeat(message)) return;
  const std::vector<std::string_view> levels = context_.topics.split(message.topic);
  if (levels.size() < 2) return log_refused(context_.log, message.topic, "not a topic of this fleet");
  // Without its store the gateway must not talk to devices, nor accept anything: it could not keep it.
  if (!context_.options.hold.empty() && levels[0] != "gateways") return;
  const std::string node(sender_of(levels));
  if (is_pod_status(levels)) placement_.statuses().note(node, pod_key_of(levels), message.payload.size());
  // What the broker retains arrives at once, and has an end.
  if (!node.empty() && context_.mirror.barrier().is_synced() && inboxes_.put_off(node, levels, message)) return;
  dispatch(levels, message);
}

// Nothing of the node's may wait, which came before it.
bool Dispatcher::is_routine_heartbeat(const Message& message) {
  const std::string_view node = context_.topics.heartbeat_sender(message.topic);
  if (node.empty() || message.retain || !context_.options.hold.empty()) return false;
  if (!context_.mirror.barrier().is_synced() || inboxes_.has_waiting()) return false;
  return placement_.nodes().routine().take(node, message.payload);
}

void Dispatcher::dispatch(const std::vector<std::string_view>& levels, const Message& message) {
  if (levels[0] == "desired") return desired_.take(levels, message);
  if (levels[0] == "status") return take_status(levels, message);
  if (levels[0] == "nodes") return take_from_node(levels, message);
  if (levels[0] == "gateways" && levels.size() >= 3 && levels[1] == context_.options.gateway) {
    if (levels[2] == "answers" && levels.size() == 4) {
      if (context_.options.hold.empty()) take_answers(std::string(levels[3]), message);
      return;
    }
    if (levels[2] == "api" && levels.size() == 3) return api_.take(message);
    if (levels[2] == "fence" && levels.size() == 3) return take_barrier(message);
  }
  log_refused(context_.log, message.topic, "not a topic this gateway reads");
}

void Dispatcher::take_barrier(const Message& message) {
  if (message.retain) return context_.mirror.take_mark(message.payload);
  if (!context_.mirror.barrier().is_back(message.payload)) return;  // of an earlier session, or not ours
  if (context_.mirror.barrier().is_synced()) return context_.mirror.settled();
  if (context_.options.hold.empty()) on_synced_();
}

// A status that a gateway whose store is lost has published: when its object is gone, nobody else would clear it.
void Dispatcher::take_status(const std::vector<std::string_view>& levels, const Message& message) {
  if (message.retain && context_.mirror.may_be_old()) context_.mirror.note_other_store();
  const KindName* kind = find_kind(levels[1]);
  if (!message.retain || message.payload.empty() || kind == nullptr || kind->plural != levels[1]) return;
  if (levels.size() != (kind->namespaced ? 4u : 3u)) return;
  context_.publisher.mark(
      kind->kind, kind->namespaced ? std::string(levels[2]) + "/" + std::string(levels[3]) : std::string(levels[2]));
}

void Dispatcher::take_from_node(const std::vector<std::string_view>& levels, const Message& message) {
  const std::string node(levels[1]);
  const auto refuse = [&](const std::string& why) { log_refused(context_.log, message.topic, why); };
  if (context_.nodes.find(node) == nullptr) {
    if (context_.nodes.all().size() >= kMaxNodes) {
      return refuse("more than " + std::to_string(kMaxNodes) + " nodes are known already");
    }
    if (!is_valid_name(node)) return refuse("not a valid node name");
  }
  const bool is_status = is_pod_status(levels);
  if (!is_status && levels.size() != 3) return refuse("not a topic of a node");
  if (message.payload.empty()) return;  // a retained message was cleared
  Result<Json> json = Json::parse(message.payload);
  if (!json) return refuse(json.error().message());
  if (is_status) placement_.statuses().note_slot(node, pod_key_of(levels), *json);
  const Status taken = is_status
                           ? placement_.pods().take_status(node, pod_key_of(levels), *json, message.payload.size())
                           : placement_.take_report(node, levels[2], *json, !message.retain);
  if (!taken.is_success()) refuse(taken.message());
}

// A list of answers is taken to its end.
void Dispatcher::take_answers(const std::string& node, const Message& message) {
  std::vector<Result<Answer>> answers = decode_answers(message.payload, node);
  inboxes_.charge_answers(node, answers.size() - 1);
  for (Result<Answer>& answer : answers) {
    if (answer) {
      placement_.take_answer(std::move(*answer));
    } else {
      log_refused(context_.log, message.topic, answer.error().message());
    }
  }
}

}  // namespace berth
