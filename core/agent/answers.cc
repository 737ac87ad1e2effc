#include "core/agent/answers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth {

namespace {

constexpr std::string_view kNameCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr int kNameDigits = 6;  // some 56 thousand million names

// Never again the same for something else: a late message must mean nothing.
std::string new_name(Random& random) {
  std::string name;
  std::uint64_t bits = random.next();
  for (int digit = 0; digit < kNameDigits; ++digit, bits /= kNameCharacters.size())
    name += kNameCharacters[bits % kNameCharacters.size()];
  return name;
}

}  // namespace

Answers::Answers(const NodeState& state, const RollbackWatch& watch, const Topics& topics, const AgentConfig& config,
                 Random& random, Turn& turn)
    : state_(state),
      topics_(topics),
      config_(config),
      random_(random),
      outbox_(turn, [&watch](std::vector<Answer> answers) {
        // Here, after the commit of what they tell.
        for (Answer& answer : answers) answer.at = watch.at();
        return encode_all(answers);
      }) {}

bool Answers::complete(Request& request) const {
  if (request.via.empty()) return true;
  if (!via_.resolve(request)) return false;
  if (request.type != RequestType::bind) return true;
  // Two gateway stores may have given the same epoch to different pods.
  const auto names_it = [&request](const auto& slot) { return slot.second.epoch == request.epoch; };
  const auto named = std::find_if(state_.slots.begin(), state_.slots.end(), names_it);
  if (named == state_.slots.end()) return false;
  request.uid = named->first;
  return std::none_of(std::next(named), state_.slots.end(), names_it);
}

void Answers::send(const std::string& gateway, Answer answer) {
  Message message;
  message.topic = topics_.answers(gateway, config_.node);
  // The gateway asks again until it has heard one of these: the broker need not acknowledge them.
  const bool is_repeated =
      answer.type == AnswerType::pre_bound || answer.type == AnswerType::bound || answer.type == AnswerType::released;
  message.qos = is_repeated ? 0 : 1;
  // Two gateway stores may have given the same epoch to different pods; then the uid is needed.
  const bool is_shared = std::any_of(state_.slots.begin(), state_.slots.end(), [&answer](const auto& slot) {
    return slot.second.epoch == answer.epoch && slot.first != answer.uid;
  });
  answer.epoch_alone = !is_shared && (answer.type == AnswerType::pre_bound || answer.type == AnswerType::bound);
  outbox_.send(std::move(message), std::move(answer));
}

void Answers::send(const ReplyTo& to, AnswerType type, const std::string& uid, const std::string& reason,
                   const std::string& refusals) {
  Answer answer(type);
  answer.incarnation = state_.incarnation;
  answer.gateway_id = to.id;
  answer.uid = uid;
  answer.epoch = to.epoch;
  answer.via = to.via;
  answer.reason = reason;
  answer.refusals = refusals;
  send(to.gateway, std::move(answer));
}

void Answers::send_kept(const Request& list) {
  if (config_.output == nullptr || has_sent_kept_ || list.protocol < kTellsKept) return;
  has_sent_kept_ = true;
  for (const Tag& tag : config_.output->kept()) {
    if (state_.slots.contains(tag.uid)) continue;  // its own Release will say
    Answer answer(AnswerType::kept);
    answer.incarnation = state_.incarnation;
    answer.gateway_id = list.gateway_id;
    answer.uid = tag.uid;
    answer.epoch = tag.epoch;
    send(list.gateway, std::move(answer));
  }
}

void Answers::send_page(const Request& request, std::vector<std::string> unused, const std::vector<KeptVolume>& kept) {
  Answer page = listing_.page(state_, request, kept);
  if (page.page == 0) {
    page.unused_volumes = std::move(unused);
    page.obeyed_before = state_.obeyed_before;
    const Via now{via_.name, request.gateway, request.gateway_id, state_.incarnation};
    if (via_ != now || via_.name.empty()) {
      via_ = now;
      via_.name = new_name(random_);
    }
    page.answers_to = via_.name;
  }
  send(request.gateway, std::move(page));
}

}  // namespace berth
