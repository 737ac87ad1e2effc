// How much one node may say in a turn (rules.md, Back-pressure). More is heard in the turns that follow, in
// its order and the newest of each topic only; beyond what is kept for it, not at all: whatever mattered is said or
// asked again. So a node that floods delays itself, and costs the others no more than the reading of its messages.
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/gateway/gateway.h"

namespace berth {

namespace {

constexpr std::size_t kMessageBytes = 1024;    // what the smallest message counts, beside its payload
constexpr std::size_t kTurnBytes = 32 * 1024;  // heard of one node in one turn; one message always is
constexpr std::size_t kHeldBytes = 512 * 1024;
constexpr std::int64_t kHearUs = 10'000;  // of what waits, of all nodes, in one turn; one node is always heard

std::size_t weight_of(const Message& message) { return message.payload.size() + kMessageBytes; }

// The authenticated node that sent it; empty: not a node's.
std::string_view sender_of(const std::vector<std::string_view>& levels) {
  if (levels[0] == "nodes") return levels[1];
  const bool answers = levels.size() == 4 && levels[0] == "gateways" && levels[2] == "answers";
  return answers ? levels[3] : std::string_view();
}

}  // namespace

// True: it is heard later, or never.
bool Gateway::put_off(const std::vector<std::string_view>& levels, const Message& message) {
  const std::string_view node = sender_of(levels);
  if (node.empty() || !synced_) return false;  // what the broker retains comes at once, and has an end
  Inbox& inbox = inboxes_[std::string(node)];
  const std::size_t weight = weight_of(message);
  if (inbox.waiting.empty() && (inbox.taken == 0 || inbox.taken + weight <= kTurnBytes)) {
    inbox.taken += weight;
    return false;
  }
  // Each answer tells of another pod; of every other topic the newest message is all there is to know.
  const auto older = std::find_if(inbox.waiting.begin(), inbox.waiting.end(), [&](const Message& each) {
    return levels[0] == "nodes" && each.topic == message.topic;
  });
  const std::size_t replaced = older == inbox.waiting.end() ? 0 : weight_of(*older);
  if (inbox.held - replaced + weight > kHeldBytes) {
    if (!inbox.overflows) log_.write(Level::warn, "a node says more than is heard", {{"node", std::string(node)}});
    inbox.overflows = true;
    return true;
  }
  inbox.held += weight - replaced;  // may wrap, and back
  if (older == inbox.waiting.end()) {
    inbox.waiting.push_back(message);
  } else {
    *older = message;
  }
  return true;
}

// A list is heard to its end; what it held beyond one message counts as if it had come alone.
void Gateway::hear_answers(const std::string& node, const Message& message) {
  std::vector<Result<Answer>> answers = decode_answers(message.payload, node);
  if (const auto inbox = inboxes_.find(node); inbox != inboxes_.end()) {
    inbox->second.taken += (answers.size() - 1) * kMessageBytes;
  }
  for (Result<Answer>& answer : answers) {
    if (answer) {
      on_answer(std::move(*answer));
    } else {
      refuse(message.topic, answer.error().message());
    }
  }
}

// Goes on behind the node that was heard last: thousands may wait.
void Gateway::read_inboxes() {
  const std::int64_t end_us = clock_.now_us() + kHearUs;
  auto entry = inboxes_.upper_bound(inbox_last_);
  for (std::size_t left = inboxes_.size(); left > 0; --left) {
    if (entry == inboxes_.end()) entry = inboxes_.begin();
    inbox_last_ = entry->first;
    read_inbox((entry++)->second);
    if (clock_.now_us() >= end_us) return;
  }
}

void Gateway::read_inbox(Inbox& inbox) {
  std::size_t count = 0;
  for (; count < inbox.waiting.size(); ++count) {
    const std::size_t weight = weight_of(inbox.waiting[count]);
    if (inbox.taken > 0 && inbox.taken + weight > kTurnBytes) break;
    inbox.taken += weight;
    inbox.held -= weight;
    dispatch(topics_.split(inbox.waiting[count].topic), inbox.waiting[count]);
  }
  inbox.waiting.erase(inbox.waiting.begin(), inbox.waiting.begin() + static_cast<std::ptrdiff_t>(count));
}

void Gateway::end_inbox_turn() {
  for (auto entry = inboxes_.begin(); entry != inboxes_.end();) {
    entry->second.taken = 0;
    entry = entry->second.waiting.empty() ? inboxes_.erase(entry) : std::next(entry);
  }
  if (inboxes_.empty() || inbox_timer_ != 0) return;
  inbox_timer_ = timers_.at(clock_.now(), [this] {
    inbox_timer_ = 0;
    read_inboxes();
  });
}

}  // namespace berth
