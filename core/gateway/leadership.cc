#include "core/gateway/leadership.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/api/names.h"
#include "core/gateway/api_reply.h"
#include "core/gateway/gateway.h"

namespace berth {

namespace {

constexpr Millis kWatchMs = 1'000;
constexpr Millis kRepeatMs = 2'000;     // a claim that has not come back is made again
constexpr Millis kOwnPastMs = 2'000;    // an earlier run of this gateway has not answered by then
constexpr Millis kAsksPerTakeover = 4;  // so often one that waits asks in takeover_ms
constexpr std::size_t kMaxOthers = 64;  // further ones are not looked at

}  // namespace

Leadership::Leadership(LeadershipOptions options, const Clock& clock, Timers& timers, Log& log, Transport& transport)
    : options_(std::move(options)),
      topics_(options_.fleet),
      clock_(clock),
      timers_(timers),
      log_(log),
      transport_(transport) {
  transport_.set_handler(this);
  tick_ = timers_.at(clock_.now() + kWatchMs, [this] { tick(); });
}

Leadership::~Leadership() {
  transport_.set_handler(nullptr);
  timers_.cancel(tick_);
}

Message Leadership::will() const {
  Message message;
  message.topic = topics_.gateway_presence(options_.gateway, options_.run);
  message.retain = true;
  message.payload = encode(GatewayPresence{PresenceState::offline, options_.machine, 0, {}});
  return message;
}

void Leadership::say_goodbye() {
  if (state_ != State::down) transport_.send(will());
  state_ = State::ended;
}

void Leadership::say(PresenceState state) {
  said_ = clock_.now();
  Message message = will();
  message.payload = encode(GatewayPresence{state, options_.machine, ++claim_, transport_.local_address()});
  transport_.send(message);
}

void Leadership::say_leader() {
  Message message;
  message.topic = topics_.leader();
  message.retain = true;
  message.payload = encode(Leader{options_.gateway, options_.machine, gateway_->identity().id});
  transport_.send(message);
}

void Leadership::clear(const std::string& topic) {
  Message message;
  message.topic = topic;
  message.retain = true;
  transport_.send(message);
}

// What the gateway sends leaves after a commit: it knows durably whom it follows before the broker forgets that.
void Leadership::send(const Message& message) {
  if (!is_up()) return;
  // Without its store it has no identity, and does nothing that another one would have to follow.
  if (!std::exchange(leader_said_, true) && !gateway_->identity().id.store_id.empty()) say_leader();
  transport_.send(message);
}

void Leadership::subscribe(const std::string& filter, int qos, SubscribeOptions options) {
  if (is_up()) transport_.subscribe(filter, qos, options);
}

void Leadership::on_send_window() {
  if (is_up() && handler_ != nullptr) handler_->on_send_window();
}

void Leadership::on_link(bool up) {
  const bool served = is_up();
  state_ = State::down;
  if (served && handler_ != nullptr) handler_->on_link(false);
  if (!up) return;
  up_since_ = leader_heard_ = clock_.now();
  leader_.reset();
  transport_.subscribe(topics_.root() + "gateways/+/presence/#", 1);
  transport_.subscribe(topics_.leader(), 1);
  claim();
}

void Leadership::on_message(const Message& message) {
  const std::vector<std::string_view> levels = topics_.split(message.topic);
  if (levels.size() == 1 && levels[0] == "leader") return take_leader(message);
  if (levels.size() == 4 && levels[0] == "gateways" && levels[2] == "presence") {
    return take_presence(levels[1], std::string(levels[3]), message);
  }
  if (levels.size() == 3 && levels[0] == "gateways" && levels[2] == "presence") {
    // What a release without runs has left.
    if (levels[1] == options_.gateway && message.retain && !message.payload.empty()) clear(message.topic);
    return;
  }
  if (is_up()) {
    if (handler_ != nullptr) handler_->on_message(message);
  } else if (state_ == State::waiting && message.topic == topics_.gateway_api(options_.gateway)) {
    refuse_request(message);
  }
}

void Leadership::refuse(const Message& message, const std::string& why) {
  log_.write(Level::warn, "refused", {{"topic", message.topic}, {"reason", why}});
}

void Leadership::refuse_request(const Message& message) {
  const std::string why = why_waiting();
  const Result<Message> refused = api_answer(topics_, message, [&](const Json& request) {
    if (api_text(request, "op") != "status") return api_failure("this gateway does not serve: " + why);
    Json reply = api_success().set("ready", false).set("reason", why);
    return reply.set("fleet", options_.fleet).set("gateway", options_.gateway);
  });
  if (!refused) return refuse(message, refused.error().message());
  transport_.send(*refused);
}

void Leadership::take_presence(std::string_view gateway, const std::string& run, const Message& message) {
  if (message.payload.empty()) {
    others_.erase(run);
    return;
  }
  const Result<GatewayPresence> presence = decode_gateway_presence(message.payload);
  if (!presence) return refuse(message, presence.error().message());
  if (!is_valid_name(gateway)) return refuse(message, "not a valid gateway name");
  if (run == options_.run) return take_own_presence(*presence);
  if (!others_.contains(run) && others_.size() >= kMaxOthers) return;
  others_[run] = {std::string(gateway), *presence, clock_.now(), !message.retain};
  if (leader_ && leader_->machine == presence->machine) leader_heard_ = clock_.now();
  if (message.retain || !is_up() || presence->state == PresenceState::offline) return;
  if (presence->state == PresenceState::serving) return step_down();
  say(PresenceState::serving);
}

// With its own claim everything has come that the broker retains, and what others have claimed before.
void Leadership::take_own_presence(const GatewayPresence& presence) {
  if (state_ == State::claiming && presence.state == PresenceState::claiming && presence.claim == claim_) {
    return must_wait() ? wait() : serve();
  }
  // The will of an earlier connection, which the broker has noticed late.
  if (is_up() && presence.state == PresenceState::offline) say(PresenceState::serving);
}

void Leadership::take_leader(const Message& message) {
  Result<Leader> leader = decode_leader(message.payload);
  if (!leader) return refuse(message, leader.error().message());
  leader_ = std::move(*leader);
  if (is_up() && leader_->id.store_id != gateway_->identity().id.store_id) step_down();
}

// An earlier run of this gateway does not answer, while a copy of its state on another machine does.
bool Leadership::has_gone(const Other& other) const {
  const bool is_own_past = other.said.machine == options_.machine && !other.is_live;
  const Millis patience = is_own_past ? std::min(kOwnPastMs, options_.takeover_ms) : options_.takeover_ms;
  return clock_.now() - std::max(other.heard, up_since_) >= patience;
}

const Leadership::Other* Leadership::find_rival() const {
  for (const auto& [run, other] : others_) {
    const PresenceState state = other.said.state;
    if ((state == PresenceState::claiming || state == PresenceState::serving) && !has_gone(other)) return &other;
  }
  return nullptr;
}

// It may come back at once: a link that is lost for a moment is no reason to ask all nodes again.
bool Leadership::waits_for_leader() const {
  return leader_ && leader_->machine != options_.machine && clock_.now() - leader_heard_ < options_.takeover_ms;
}

void Leadership::claim() {
  state_ = State::claiming;
  say(PresenceState::claiming);
}

void Leadership::wait() {
  state_ = State::waiting;
  log_.write(Level::error, "another gateway serves this fleet; waiting", {{"other", rival_text()}});
  say(PresenceState::waiting);
  const Other* rival = find_rival();
  // One of the same name answers for itself.
  if ((rival != nullptr ? rival->gateway : leader_->gateway) != options_.gateway) {
    transport_.subscribe(topics_.gateway_api(options_.gateway), 1);
  }
}

void Leadership::serve() {
  if (leader_) gateway_->follow(*leader_, leader_->machine == options_.machine);
  state_ = State::serving;
  leader_said_ = false;
  say(PresenceState::serving);
  for (const auto& [run, other] : others_) {
    const bool is_past = other.said.state == PresenceState::offline || other.said.machine == options_.machine;
    if (is_past) clear(topics_.gateway_presence(other.gateway, run));
  }
  if (handler_ != nullptr) handler_->on_link(true);
}

void Leadership::step_down() {
  log_.write(Level::error, "another gateway serves this fleet as well; stopping", {{"other", rival_text()}});
  state_ = State::waiting;
  if (handler_ != nullptr) handler_->on_link(false);
  claim();
}

void Leadership::tick() {
  tick_ = timers_.at(clock_.now() + kWatchMs, [this] { tick(); });
  const Millis since = clock_.now() - said_;
  if (state_ == State::claiming && since >= kRepeatMs) claim();
  if (state_ != State::waiting) return;
  if (!must_wait()) return claim();
  if (since >= options_.takeover_ms / kAsksPerTakeover) say(PresenceState::waiting);
}

std::string Leadership::rival_text() const {
  if (const Other* rival = find_rival()) {
    return "gateway \"" + rival->gateway + "\"" + (rival->said.address.empty() ? "" : " at " + rival->said.address);
  }
  return leader_ ? "gateway \"" + leader_->gateway + "\"" : "another gateway";
}

std::string Leadership::why_waiting() const {
  if (state_ == State::claiming) return "the broker has not told yet which gateway serves fleet " + options_.fleet;
  if (state_ != State::waiting) return {};
  return rival_text() + " serves fleet " + options_.fleet +
         "; end one of the two. This one goes on when the other has " + "not been heard for " +
         std::to_string(options_.takeover_ms / 1000) + " s";
}

}  // namespace berth
