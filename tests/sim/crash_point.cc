#include "tests/sim/crash_point.h"

namespace berth::sim {

CutStore::CutStore(MemoryStore& flash, CrashPoint& point, Sabotage sabotage, Mutant mutant, OnDurable on_durable)
    : flash_(flash), point_(point), sabotage_(sabotage), mutant_(mutant), on_durable_(std::move(on_durable)) {}

void CutStore::put(Table table, const std::string& key, const std::string& value) {
  if (sabotage_ == Sabotage::s11 && table == Table::object) return;
  staged_ = true;
  touched_.insert({table, key});
  flash_.put(table, key, value);
}

void CutStore::erase(Table table, const std::string& key) {
  staged_ = true;
  touched_.insert({table, key});
  flash_.erase(table, key);
}

std::uint64_t CutStore::next_position() const {
  const std::uint64_t position = flash_.next_position();
  if (sabotage_ == Sabotage::s1) return position % 40 + 1;
  if (sabotage_ == Sabotage::s2) return position / 40 + 1;
  return position;
}

Status CutStore::begin(const std::string& key, const std::string& value, int phase) {
  const Status begun = flash_.begin(key, value, phase);
  touched_.insert({Table::row, key});
  if (begun.is_success()) staged_ = begins_ = true;
  return begun;
}

void CutStore::advance(const std::string& key, int phase) {
  staged_ = true;
  touched_.insert({Table::row, key});
  advances_ = advances_ || phase == static_cast<int>(Phase::bind);
  flash_.advance(key, phase);
}

Status CutStore::commit() {
  if (!staged_) return rash_ ? Status::ok() : flash_.commit();  // messages in lists are sent after a second commit
  if (!point_.allows_effect()) return Status::error("the power was cut before the commit");
  if (next_commit_ != Commit::well) {
    flash_.fail_next_commit(next_commit_ == Commit::fails_kept ? MemoryStore::Outcome::kept
                                                               : MemoryStore::Outcome::lost);
  }
  const bool rash = (mutant_ == Mutant::p1 && begins_) || (mutant_ == Mutant::p2 && advances_);
  begins_ = advances_ = false;
  if (rash && next_commit_ == Commit::fails_lost) {
    (void)flash_.commit();
    failed_ = rash_ = true;  // the turn continues nevertheless: its messages are sent
    staged_ = false;
    notify_durable();
    return Status::ok();
  }
  const Status committed = flash_.commit();
  failed_ = !committed.is_success();
  staged_ = false;
  next_commit_ = Commit::well;
  notify_durable();
  return committed;
}

void CutStore::notify_durable() { on_durable_(std::exchange(touched_, {})); }

CutTransport::CutTransport(LoopbackClient& client, CrashPoint& point, Watcher& watcher)
    : client_(client), point_(point), watcher_(watcher) {
  client_.set_handler(this);
}

void CutTransport::send(const Message& message) {
  if (!client_.is_up() || !point_.allows_effect()) return;
  Message copy = message;
  if (watcher_.on_send(copy)) client_.send(copy);
}

void CutTransport::subscribe(const std::string& filter, int qos, SubscribeOptions options) {
  if (!point_.is_reached()) client_.subscribe(filter, qos, options);
}

void CutTransport::on_message(const Message& message) {
  Message copy = message;
  if (watcher_.on_arrival(copy) && handler_ != nullptr) handler_->on_message(copy);
}

void CutTransport::on_link(bool up) {
  watcher_.on_link_change(up);
  if (handler_ != nullptr) handler_->on_link(up);
}

void CutTransport::on_send_window() {
  watcher_.on_send_window_open();
  if (handler_ != nullptr) handler_->on_send_window();
}

void CutRuntime::prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  if (point_.allows_effect()) machine_.prepare(tag, pod, volumes);
}

void CutRuntime::undo(const Tag& tag) {
  if (point_.allows_effect()) machine_.undo(tag);
}

Result<std::string> CutRuntime::start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  if (!point_.allows_effect()) return std::string("0:0");  // the program is dead and does not read it
  return machine_.start(tag, pod, volumes);
}

void CutRuntime::go(const Tag& tag) {
  if (point_.allows_effect()) machine_.go(tag);
}

void CutRuntime::stop(const Tag& tag, Millis grace) {
  if (point_.allows_effect()) machine_.stop(tag, grace);
}

}  // namespace berth::sim
