#include "core/gateway/node_inboxes.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::size_t kMessageBytes = 1024;    // what the smallest message counts, beside its payload
constexpr std::size_t kTurnBytes = 32 * 1024;  // heard of one node in one turn; one message always is
constexpr std::size_t kHeldBytes = 512 * 1024;
constexpr std::int64_t kHearUs = 10'000;  // of what waits, of all nodes, in one turn; one node is always heard

std::size_t weight_of(const Message& message) { return message.payload.size() + kMessageBytes; }

}  // namespace

std::string_view sender_of(const std::vector<std::string_view>& levels) {
  if (levels[0] == "nodes") return levels[1];
  const bool answers = levels.size() == 4 && levels[0] == "gateways" && levels[2] == "answers";
  return answers ? levels[3] : std::string_view();
}

NodeInboxes::NodeInboxes(const Clock& clock, Timers& timers, Log& log, Process process)
    : clock_(clock), timers_(timers), log_(log), process_(std::move(process)) {}

NodeInboxes::~NodeInboxes() { timers_.cancel(timer_); }

bool NodeInboxes::put_off(const std::string& node, const std::vector<std::string_view>& levels,
                          const Message& message) {
  Inbox& inbox = inboxes_[node];
  const std::size_t weight = weight_of(message);
  if (inbox.waiting.empty() && (inbox.taken == 0 || inbox.taken + weight <= kTurnBytes)) {
    inbox.taken += weight;
    return false;
  }
  // Each answer is about another pod; of every other topic the newest message is enough.
  const auto older = std::find_if(inbox.waiting.begin(), inbox.waiting.end(), [&](const Message& each) {
    return levels[0] == "nodes" && each.topic == message.topic;
  });
  const std::size_t replaced = older == inbox.waiting.end() ? 0 : weight_of(*older);
  if (inbox.held - replaced + weight > kHeldBytes) {
    if (!inbox.overflows) log_.write(Level::warn, "node inbox overflow, messages dropped", {{"node", node}});
    inbox.overflows = true;
    return true;
  }
  has_waiting_ = true;
  inbox.held += weight - replaced;  // may wrap, and back
  if (older == inbox.waiting.end()) {
    inbox.waiting.push_back(message);
  } else {
    *older = message;
  }
  return true;
}

// Goes on behind the node that was processed last: thousands may wait.
void NodeInboxes::charge_answers(const std::string& node, std::size_t more) {
  if (const auto inbox = inboxes_.find(node); inbox != inboxes_.end()) inbox->second.taken += more * kMessageBytes;
}

void NodeInboxes::read_all() {
  const std::int64_t end_us = clock_.now_us() + kHearUs;
  auto entry = inboxes_.upper_bound(last_read_);
  for (std::size_t left = inboxes_.size(); left > 0; --left) {
    if (entry == inboxes_.end()) entry = inboxes_.begin();
    last_read_ = entry->first;
    read((entry++)->second);
    if (clock_.now_us() >= end_us) return;
  }
}

void NodeInboxes::read(Inbox& inbox) {
  std::size_t count = 0;
  for (; count < inbox.waiting.size(); ++count) {
    const std::size_t weight = weight_of(inbox.waiting[count]);
    if (inbox.taken > 0 && inbox.taken + weight > kTurnBytes) break;
    inbox.taken += weight;
    inbox.held -= weight;
    process_(inbox.waiting[count]);
  }
  inbox.waiting.erase(inbox.waiting.begin(), inbox.waiting.begin() + static_cast<std::ptrdiff_t>(count));
}

void NodeInboxes::end_turn() {
  for (auto entry = inboxes_.begin(); entry != inboxes_.end();) {
    entry->second.taken = 0;
    entry = entry->second.waiting.empty() ? inboxes_.erase(entry) : std::next(entry);
  }
  has_waiting_ = !inboxes_.empty();
  if (inboxes_.empty() || timer_ != 0) return;
  timer_ = timers_.at(clock_.now(), [this] {
    timer_ = 0;
    read_all();
  });
}

}  // namespace berth
