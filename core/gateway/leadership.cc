#include "core/gateway/leadership.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/api/names.h"
#include "core/gateway/api_reply.h"
#include "core/gateway/gateway.h"
#include "core/placement/context.h"

namespace berth {

namespace {

constexpr Millis kWatchMs = 1'000;
constexpr Millis kStoodStillMs = 5'000;  // between two ticks: nothing was heard in that time
constexpr Millis kRepeatMs = 2'000;      // a claim that has not come back is made again
constexpr Millis kAsksPerTakeover = 4;   // so often one that waits asks in takeover_ms

}  // namespace

Leadership::Leadership(LeadershipOptions options, const Clock& clock, Timers& timers, Log& log, Transport& transport)
    : options_(std::move(options)),
      topics_(options_.fleet),
      clock_(clock),
      timers_(timers),
      log_(log),
      transport_(transport),
      others_(options_.machine, options_.takeover_ms, clock),
      ticked_(clock.now()) {
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

// Without its store it has no identity, and does nothing that another one would have to follow.
void Leadership::say_leader() {
  if (gateway_->is_on_hold()) return;
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
  if (!std::exchange(leader_said_, true)) say_leader();
  others_.set_must_follow(false);
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
  others_.restart_patience();
  transport_.subscribe(topics_.root() + "gateways/+/presence/#", 1);
  transport_.subscribe(topics_.leader(), 1);
  begin_claims();
}

void Leadership::on_message(const Message& message) {
  // Most messages are those of nodes: for these it looks at no more than this.
  const std::string_view below = topics_.below_root(message.topic);
  if (below == "leader") return take_leader(message);
  if (!below.starts_with("gateways/")) return pass_on(message);
  const std::vector<std::string_view> levels = topics_.split(message.topic);
  const bool is_presence = levels.size() >= 3 && levels[0] == "gateways" && levels[2] == "presence";
  if (is_presence && levels.size() == 4) return take_presence(std::string(levels[1]), std::string(levels[3]), message);
  if (is_presence) {
    if (levels.size() == 3 && levels[1] == options_.gateway) has_old_presence_ = !message.payload.empty();
    return;
  }
  pass_on(message);
}

void Leadership::pass_on(const Message& message) {
  if (is_up()) {
    if (handler_ != nullptr) handler_->on_message(message);
  } else if (state_ == State::waiting && message.topic == topics_.gateway_api(options_.gateway)) {
    refuse_request(message);
  }
}

// A gateway of the same name answers for itself.
void Leadership::refuse_request(const Message& message) {
  if (others_.rival_gateway() == options_.gateway) return;
  const std::string why = why_waiting();
  const Result<Message> refused = api_answer(topics_, message, [&](const Json& request) {
    if (api_text(request, "op") != "status") return api_failure("this gateway does not serve: " + why);
    Json reply = api_success().set("ready", false).set("reason", why);
    return reply.set("fleet", options_.fleet).set("gateway", options_.gateway);
  });
  if (!refused) return log_refused(log_, message.topic, refused.error().message());
  transport_.send(*refused);
}

void Leadership::take_presence(const std::string& gateway, const std::string& run, const Message& message) {
  if (run == options_.run) return take_own_presence(message);
  if (message.payload.empty()) {
    others_.erase(run);
    return;
  }
  Result<GatewayPresence> presence = decode_gateway_presence(message.payload);
  if (!presence) return log_refused(log_, message.topic, presence.error().message());
  if (!is_valid_name(gateway)) return log_refused(log_, message.topic, "not a valid gateway name");
  take_other(run, {gateway, std::move(*presence), clock_.now(), !message.retain});
}

// With its own claim everything has come that the broker retains, and what others have claimed before. Each claim since
// the first one is as good: the way to the broker and back may take longer than the time between two.
void Leadership::take_own_presence(const Message& message) {
  if (message.payload.empty()) {  // somebody has cleared it
    if (is_up()) say(PresenceState::serving);
    return;
  }
  const Result<GatewayPresence> presence = decode_gateway_presence(message.payload);
  if (!presence) return log_refused(log_, message.topic, presence.error().message());
  if (state_ == State::claiming && presence->state == PresenceState::claiming && presence->claim >= first_claim_) {
    return must_wait() ? wait() : serve();
  }
  // The will of an earlier connection, which the broker has noticed late.
  if (is_up() && presence->state == PresenceState::offline) say(PresenceState::serving);
}

void Leadership::take_other(const std::string& run, OtherGateways::Run other) {
  const PresenceState state = other.said.state;
  const std::string topic = topics_.gateway_presence(other.gateway, run);
  const bool is_live = other.is_live;
  others_.take(run, std::move(other));
  if (!is_up()) return;
  if (state == PresenceState::offline) {
    others_.erase(run);
    return clear(topic);
  }
  if (!is_live) return;
  if (state == PresenceState::serving || yields()) return step_down();
  say(PresenceState::serving);
}

void Leadership::take_leader(const Message& message) {
  if (message.payload.empty()) {  // somebody has cleared it
    if (is_up() && leader_said_) say_leader();
    return;
  }
  Result<Leader> leader = decode_leader(message.payload);
  if (!leader) {
    if (!is_up()) others_.set_must_follow(true);  // somebody has served
    return log_refused(log_, message.topic, leader.error().message());
  }
  others_.take_leader(std::move(*leader));
  if (!is_up() || !leader_said_ || others_.leader()->id.store_id == gateway_->identity().id.store_id) return;
  others_.set_must_follow(true);
  step_down();
}

bool Leadership::must_wait() const {
  return others_.find_rival() != nullptr || others_.waits_for_leader(gateway_->identity().id.store_id) || yields();
}

// One that cannot read its store makes room for any other.
bool Leadership::yields() const { return gateway_->is_on_hold() && others_.has_live(); }

void Leadership::begin_claims() {
  first_claim_ = claim_ + 1;
  claim();
}

void Leadership::claim() {
  state_ = State::claiming;
  say(PresenceState::claiming);
}

void Leadership::wait() {
  state_ = State::waiting;
  const OtherGateways::Run* rival = others_.find_rival();
  if (rival != nullptr && others_.is_own_past(*rival)) {
    log_.write(Level::info, "an earlier run of this gateway is still there for the broker; waiting", {});
  } else {
    log_.write(Level::error, "another gateway serves this fleet; waiting", {{"other", others_.rival_text()}});
  }
  say(PresenceState::waiting);
  transport_.subscribe(topics_.gateway_api(options_.gateway), 1);
}

void Leadership::serve() {
  const std::optional<Leader>& leader = others_.leader();
  const bool was_itself = !leader || gateway_->was_itself(*leader, others_.is_leader_of_this_machine());
  const bool follows = others_.must_follow() || !was_itself;
  gateway_->lead(follows ? std::optional(leader ? leader->id.term : 0) : std::nullopt);
  state_ = State::serving;
  leader_said_ = false;
  say(PresenceState::serving);
  for (const auto& [gateway, run] : others_.take_gone()) clear(topics_.gateway_presence(gateway, run));
  if (std::exchange(has_old_presence_, false)) {
    clear(topics_.root() + "gateways/" + options_.gateway + "/presence");  // of a release without runs
  }
  if (handler_ != nullptr) handler_->on_link(true);
}

void Leadership::step_down() {
  log_.write(Level::error, "another gateway serves this fleet as well; stopping", {{"other", others_.rival_text()}});
  state_ = State::waiting;
  if (handler_ != nullptr) handler_->on_link(false);
  begin_claims();
}

void Leadership::tick() {
  tick_ = timers_.at(clock_.now() + kWatchMs, [this] { tick(); });
  if (clock_.now() - std::exchange(ticked_, clock_.now()) >= kStoodStillMs) others_.restart_patience();
  const Millis since = clock_.now() - said_;
  if (state_ == State::claiming && since >= kRepeatMs) claim();
  if (state_ != State::waiting) return;
  if (!must_wait()) return begin_claims();
  if (since >= options_.takeover_ms / kAsksPerTakeover) say(PresenceState::waiting);
}

std::string Leadership::why_waiting() const {
  if (state_ == State::claiming) return "the broker has not told yet which gateway serves fleet " + options_.fleet;
  if (state_ != State::waiting) return {};
  return others_.rival_text() + " serves fleet " + options_.fleet + ", or did last; end one of the two. " +
         "This one goes on when the other has not been heard for " + std::to_string(options_.takeover_ms / 1000) + " s";
}

}  // namespace berth
