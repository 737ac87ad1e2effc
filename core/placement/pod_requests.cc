// What a row asks of its device, and the device's answers to it.
#include "core/framework/refusals.h"
#include "core/json/utf8.h"
#include "core/placement/kept_output.h"
#include "core/placement/pod_lifecycle.h"

namespace berth {

namespace {

constexpr std::size_t kMaxReasonBytes = 1024;  // shown twice in a status, which must fit into a message

// Of another id than that of the device's state, an end may have been told already, or may be told before the state
// that has it is known (D6). A refusal that nobody remembers would let the node be asked again at once.
bool will_last(const Binding& binding, const Answer& answer, const DeviceNode* device, const Refusals& refusals) {
  return device != nullptr && device->incarnation == binding.row.incarnation && !answer.refusals.empty() &&
         answer.refusals == device->refusals && binding.pod != nullptr && refusals.can_note(*binding.pod, answer.node);
}

}  // namespace

void PodLifecycle::request(Binding& binding) {
  const Row& row = binding.row;
  Request message;
  switch (row.phase) {
    case Phase::prebind:
      message.type = RequestType::pre_bind;
      message.pod = binding.pod == nullptr ? "{}" : binding.pod->manifest().text();
      message.uid_in_pod = binding.pod != nullptr;
      message.volumes = row.volumes;
      message.promise_ms = row.promise_ms;
      if (binding.pod != nullptr) configs_.add_refs(*binding.pod, message);
      binding.edit().prebind_sent = context_.clock.now();
      break;
    case Phase::bind: message.type = RequestType::bind; break;
    case Phase::release:
      message.type = RequestType::release;
      message.keep_output = KeptOutput::is_wanted(context_.objects, row.uid);
      break;
    case Phase::bound:
    case Phase::none: return;  // nothing is asked
  }
  message.is_repeated = binding.progress().resends > 0;
  // The gateway that it follows may have placed the pod elsewhere, as this Bind was never obeyed (P13).
  const bool holds_back = row.phase == Phase::bind && context_.identity->adopting && context_.identity->followed;
  if (!holds_back) ask(binding, std::move(message));
  sender_.arm_resend(binding.edit().resend, binding.edit().resends, [this, uid = row.uid] {
    Binding& again = state_.bindings.at(uid);
    again.edit().resend = 0;
    request(again);
  });
}

void PodLifecycle::verify(Binding& binding) {
  if (binding.row.phase != Phase::bound) return request(binding);
  Request bind(RequestType::bind);
  bind.is_repeated = binding.progress().resends > 0;
  ask(binding, std::move(bind));
  sender_.arm_resend(binding.edit().resend, binding.edit().resends, [this, uid = binding.row.uid] {
    Binding& again = state_.bindings.at(uid);
    again.edit().resend = 0;
    verify(again);
  });
}

void PodLifecycle::ask(Binding& binding, Request request) {
  request.uid = binding.row.uid;
  request.epoch = binding.row.epoch;
  request.incarnation = binding.row.incarnation;
  if (request.type == RequestType::release) return sender_.send(binding.row.node, std::move(request));
  // The turn that asks may also learn what ends the row: then its phase never was on flash (P1, P2).
  const Phase least = request.type == RequestType::bind ? Phase::bind : Phase::prebind;
  auto still_needed = [this, least, uid = request.uid, epoch = request.epoch] {
    const Binding* asked = state_.find(uid);
    if (asked == nullptr || asked->row.epoch != epoch) return false;
    return asked->row.phase == least || (least == Phase::bind && asked->row.phase == Phase::bound);
  };
  sender_.send(binding.row.node, std::move(request), std::move(still_needed));
}

void PodLifecycle::arm_deadline(Binding& binding) {
  const std::uint32_t session = context_.mirror.barrier().session();
  const auto pass = [this, session, uid = binding.row.uid] {
    Binding& late = state_.bindings.at(uid);
    late.edit().deadline = 0;
    const std::string waited = " in " + std::to_string(late.row.promise_ms / 1000) + " s";
    // Without the broker in between it may never have been asked: that says nothing of the node.
    const SyncBarrier& barrier = context_.mirror.barrier();
    const bool was_connected = barrier.is_link_up() && barrier.session() == session;
    late.edit().reason = was_connected ? "node " + late.row.node + " did not answer PreBind" + waited
                                       : "the gateway was not connected to the broker all the time, and node " +
                                             late.row.node + " has not answered PreBind" + waited;
    if (was_connected) events_.prebind_told(late.row, PreBindOutcome::unanswered);
    feed(uid, RowEvent::leave);
  };
  binding.edit().deadline = context_.timers.at(context_.clock.now() + binding.row.promise_ms, pass);
}

void PodLifecycle::resend(const std::string& node) {
  const DeviceNode* device = context_.nodes.find(node);
  for (Binding* binding : rows_of(state_, node)) {
    if (!binding->is_at_rest()) binding->edit().resends = 0;
    if (binding->row.phase != Phase::bound) {
      request(*binding);
    } else if (device == nullptr || device->incarnation != binding->row.incarnation) {
      verify(*binding);
    }
  }
}

bool PodLifecycle::take_answer(const Answer& answer) {
  Binding* binding = state_.find(answer.uid);
  if (binding == nullptr) return false;
  const Millis sent = binding->progress().prebind_sent;
  const bool passed = sent >= 0 && context_.clock.now() - sent >= binding->row.promise_ms;
  if (std::optional<RowEvent> event = read_answer(binding->row, answer, context_.identity->id.store_id, passed)) {
    if (*event == RowEvent::pre_bound) events_.prebind_told(binding->row, PreBindOutcome::taken);
    const std::string reason = shorten(answer.reason, kMaxReasonBytes);
    if (answer.type == AnswerType::rejected) {
      binding->edit().reason = "node " + answer.node + " rejected the pod: " + reason;
    }
    const bool is_refused = *event == RowEvent::rejected && binding->row.phase == Phase::prebind;
    const Refusal refusal{
        reason, is_refused && will_last(*binding, answer, context_.nodes.find(answer.node), scheduler_.refusals())};
    if (is_refused) {
      events_.prebind_told(binding->row, refusal.lasts ? PreBindOutcome::refused : PreBindOutcome::rejected);
    }
    if (is_refused) provisioned_.tell_rejected(binding->row, reason);
    const PodPtr pod = binding->pod;
    const std::string incarnation(binding->row.incarnation);
    feed(answer.uid, *event);
    if (is_refused && pod != nullptr) {
      events_.pod_refused(*pod, answer.node, incarnation, refusal);
    }
    return true;
  }
  const bool confirms = answer.type == AnswerType::bound && binding->row.phase == Phase::bound &&
                        answer.node == binding->row.node && answer.epoch == binding->row.epoch &&
                        answer.incarnation == binding->row.incarnation;
  if (confirms) {  // the answer to verify()
    binding->cancel(context_.timers);
    binding->rest();
  }
  return false;
}

}  // namespace berth
