// Start, dispatch and the turn.
#include "core/gateway/gateway.h"

#include "core/api/names.h"
#include "core/placement/queue_positions.h"
#include "core/placement/retired.h"

namespace berth {

namespace {

constexpr Millis kTickMs = 1000;
// Of one turn: so long what is known is marked for publishing after a connect, and so long mirrors and statuses are
// published.
constexpr std::int64_t kRepublishUs = 5'000;
constexpr std::int64_t kPublishUs = 5'000;
constexpr std::size_t kMaxNodes = 20'000;  // a node is kept for each authenticated name that ever sent anything

}  // namespace

Gateway::Gateway(GatewayOptions options, const Registry& registry, const Clock& clock, Transport& transport,
                 Store& store, Timers& timers, Log& log)
    : options_(std::move(options)),
      registry_(registry),
      transport_(transport),
      random_(options_.seed),
      topics_(options_.fleet),
      turn_(store, transport),
      objects_(store),
      nodes_(store, clock),
      identity_(store),
      mirror_(turn_, topics_, clock, store, objects_, identity_, options_.gateway),
      admission_{store},
      context_{options_, clock,  store,     timers,   log,
               random_,  turn_,  topics_,   metrics_, admission_,
               objects_, nodes_, identity_, mirror_,  mirror_.publisher()},
      placement_(context_),
      orders_(context_, placement_),
      view_(context_, placement_),
      desired_(context_, orders_),
      api_(context_, placement_, orders_, view_),
      inboxes_(clock, timers, log,
               [this](const Message& message) { dispatch(topics_.split(message.topic), message); }) {
  transport_.set_handler(this);
}

Gateway::~Gateway() {
  transport_.set_handler(nullptr);
  context_.timers.cancel(tick_);
  context_.timers.cancel(again_);
}

Status Gateway::start() {
  for (const Profile& profile : options_.profiles) {
    const Status added = placement_.scheduler().add_profile(registry_, profile);
    if (!added.is_success()) return Status::unresolvable("profile " + profile.scheduler_name + ": " + added.message());
  }
  if (options_.profiles.empty()) return Status::unresolvable("profiles: expected at least one");
  if (Status loaded = load(); !loaded.is_success()) return loaded;
  context_.publisher.set_mirror_mark(identity_->id.store_id);
  placement_.recover();
  context_.log.write(Level::info, "gateway started",
                     {{"fleet", options_.fleet},
                      {"gateway", options_.gateway},
                      {"seed", std::to_string(options_.seed)},
                      {"term", std::to_string(identity_->id.term)},
                      {"store", identity_->id.store_id},
                      {"pods", std::to_string(objects_.pods().size())},
                      {"rows", std::to_string(bindings().size())},
                      {"releases", std::to_string(releases().size())},
                      {"adopting", identity_->adopting ? "yes" : "no"}});
  tick_ = context_.timers.at(context_.clock.now() + kTickMs, [this] { tick(); });
  return Status::ok();
}

Status Gateway::load() {
  Status read = context_.store.read([this](const RecordView& record) { return load_record(record); });
  if (!read.is_success()) return read;
  for (const std::string& node : options_.known_nodes) {
    if (nodes_.find(node) != nullptr || !is_retired(*identity_, nodes_, node)) nodes_.expect(node);
  }
  if (identity_->id.store_id.empty()) begin_identity();
  return Status::ok();
}

// First boot of this store, or its loss: only the answers of the nodes can tell which (P8). Once the retained state has
// arrived, all of them are known.
void Gateway::begin_identity() {
  Identity& identity = identity_.edit();
  identity.id = {1, random_.hex_id()};
  identity.adopt_nodes = {options_.known_nodes.begin(), options_.known_nodes.end()};
  identity.adopting = true;
  identity.statuses_unread = true;
}

Status Gateway::load_record(const RecordView& record) {
  switch (record.table) {
    case Table::object: return objects_.load(record);
    case Table::node: return nodes_.load(record);
    case Table::slot:
    case Table::high: return Status::error("the store holds slots: it is a device agent's, not a gateway's");
    case Table::meta:
      if (record.key == IdentityRecord::kRecord) return identity_.load(record);
      if (record.key.starts_with(SupersededOrders::kRecords)) return mirror_.superseded().load(record);
      if (record.key == VolumeBinder::kRecord) return placement_.load(record);
      return Status::error("stored meta \"" + std::string(record.key) + "\" is not known");
    default: return placement_.load(record);
  }
}

Status Gateway::finish_turn() {
  const std::int64_t republish_end_us = context_.clock.now_us() + kRepublishUs;
  mirror_.republish(republish_end_us);
  placement_.ask_nodes(republish_end_us);
  placement_.lifecycle().retry_provisioned();
  placement_.lifecycle().begin_deferred();
  if (placement_.schedule_pending()) turn_again();
  inboxes_.end_turn();
  identity_.save();
  // Positions go with what is written anyway.
  if (!saving_writes_ && context_.store.next_position() != position_) {
    save_positions(context_, placement_.scheduler().queue(), false);
  }
  if (std::exchange(ticked_, false)) context_.publisher.tick();
  // Before the barrier is back nothing is published: it is not known what the broker retains, and all will be marked.
  if (mirror_.barrier().is_synced()) publish();
  const Status finished = turn_.finish();
  position_ = context_.store.next_position();
  if (mirror_.barrier().is_synced() && has_more_to_say()) turn_again();
  return finished;
}

// What the send window has no capacity for goes on when it has, see on_send_window().
bool Gateway::has_more_to_say() const {
  const bool has_more_to_publish = mirror_.publisher().pending() > 0 || mirror_.has_more_to_republish();
  return placement_.has_nodes_to_ask() || (has_more_to_publish && transport_.send_window() > 0);
}

void Gateway::publish() {
  const std::int64_t end_us = context_.clock.now_us() + kPublishUs;
  context_.publisher.publish(
      {[this](Kind kind, const std::string& key) {
         return mirror_.note_status(kind, key, view_.published_status_of(kind, key));
       },
       [this](Kind kind, const std::string& key) { return objects_.text(kind, key); },
       [this](Kind kind, const std::string& key) { return kind == Kind::pod && view_.is_passing(key); },
       [this](Kind kind, const std::string& key) {
         mirror_.superseded().mirrored({kind, key}, mirror_.barrier().next());
       }},
      transport_.send_window(), [this, end_us] { return context_.clock.now_us() >= end_us; });
}

// What a turn left undone goes on in the next one, at once.
void Gateway::turn_again() {
  if (again_ == 0) again_ = context_.timers.at(context_.clock.now(), [this] { again_ = 0; });
}

void Gateway::tick() {
  ticked_ = true;
  tick_ = context_.timers.at(context_.clock.now() + kTickMs, [this] { tick(); });
  placement_.scheduler().queue().flush();
  placement_.nodes().check_silence();
  placement_.nodes().compare_periodically();
  // What is still pending is newer than what the broker would deliver, and would be taken for an order to go back.
  if (!context_.publisher.has_pending_mirrors()) read_refused_again();
  const SyncBarrier& barrier = mirror_.barrier();
  if (barrier.is_synced()) mirror_.settle();
  if (barrier.is_link_up() && !barrier.is_synced()) mirror_.barrier().send();  // the last one may have been lost
}

// What was refused for want of capacity stays retained on the broker: once there is capacity, a new subscription brings
// it again. What devices offer is known.
void Gateway::read_refused_again() {
  NodeRegistry& nodes = placement_.nodes();
  if ((!desired_.has_refused() && !nodes.has_refused_volumes()) || !admission_.capacity().is_success()) return;
  nodes.retry_refused_volumes();
  if (!desired_.has_refused() || !mirror_.barrier().is_link_up()) return;
  desired_.clear_refused();
  mirror_.read_again();
  subscribe_to_desired();
}

Message Gateway::will() const {
  Message message;
  message.topic = topics_.gateway_presence(options_.gateway);
  message.retain = true;
  message.payload = Json(Json::Object{{"online", Json(false)}, {"storeId", Json(identity_->id.store_id)}}).dump();
  return message;
}

void Gateway::say_goodbye() {
  save_positions(context_, placement_.scheduler().queue(), true);
  placement_.pods().save_deferred();
  turn_.send(will());
}

void Gateway::save_writes(bool saving) {
  saving_writes_ = saving;
  placement_.pods().save_writes(saving);
}

std::string Gateway::damaged_stores() const {
  std::string stores;
  for (const std::string& path : options_.set_aside) stores += (stores.empty() ? "" : ", ") + path;
  return stores.empty() ? stores : "damaged and set aside: " + stores;
}

void Gateway::on_link(bool up) {
  mirror_.barrier().set_link(up);
  inboxes_.clear();
  placement_.reset_listings();
  if (!up) return;
  metrics_.connections.at().add();
  mirror_.start_session();
  placement_.forget_nodes_to_ask();
  desired_.clear_refused();
  subscribe();
  mirror_.barrier().raise();
  mirror_.barrier().send();
  Message presence = will();
  presence.payload = Json(Json::Object{{"online", Json(true)},
                                       {"storeId", Json(identity_->id.store_id)},
                                       {"term", Json(std::to_string(identity_->id.term))}})
                         .dump();
  turn_.send(std::move(presence));
}

// QoS 0: the broker truncates the retained set of a QoS 1 subscriber above its queue limit.
void Gateway::subscribe() {
  const std::string& root = topics_.root();
  subscribe_to_desired();
  if (identity_->statuses_unread) transport_.subscribe(root + "status/#", 0, {.no_local = true});
  for (const char* filter : {"nodes/+/presence", "nodes/+/state", "nodes/+/pods/+/+"}) {
    transport_.subscribe(root + filter, 0);
  }
  transport_.subscribe(root + "nodes/+/heartbeat", 0);
  transport_.subscribe(root + "gateways/" + options_.gateway + "/answers/+", 1);
  transport_.subscribe(topics_.gateway_api(options_.gateway), 1);
  transport_.subscribe(topics_.gateway_fence(options_.gateway), 1);
}

// Retained mirrors come with a new subscription; those of now are known, and would cost a third of a bind's bytes. A
// manifest that an operator left retained needs no mirror, which retain-as-published tells.
void Gateway::subscribe_to_desired() {
  transport_.subscribe(topics_.root() + "desired/#", 0, {.no_local = true, .retain_as_published = true});
}

// All retained state has arrived: what the broker lost is published again, and every known node is asked.
void Gateway::on_synced() {
  mirror_.barrier().set_synced();
  mirror_.on_synced();
  placement_.on_synced();
  if (!identity_->adopting && identity_->statuses_unread) identity_.edit().statuses_unread = false;
  context_.log.write(
      Level::info, "in step with the broker",
      {{"pods", std::to_string(objects_.pods().size())}, {"nodes", std::to_string(nodes_.all().size())}});
}

void Gateway::on_message(const Message& message) {
  metrics_.messages.at({"in"}).add();
  const std::vector<std::string_view> levels = topics_.split(message.topic);
  if (levels.size() < 2) return log_refused(context_.log, message.topic, "not a topic of this fleet");
  // Without its store the gateway must not talk to devices, nor accept anything: it could not keep it.
  if (!options_.hold.empty() && levels[0] != "gateways") return;
  const std::string node(sender_of(levels));
  // What the broker retains arrives at once, and has an end.
  if (!node.empty() && mirror_.barrier().is_synced() && inboxes_.put_off(node, levels, message)) return;
  dispatch(levels, message);
}

void Gateway::dispatch(const std::vector<std::string_view>& levels, const Message& message) {
  if (levels[0] == "desired") return desired_.take(levels, message);
  if (levels[0] == "status") return take_status(levels, message);
  if (levels[0] == "nodes") return take_from_node(levels, message);
  if (levels[0] == "gateways" && levels.size() >= 3 && levels[1] == options_.gateway) {
    if (levels[2] == "answers" && levels.size() == 4) {
      if (options_.hold.empty()) take_answers(std::string(levels[3]), message);
      return;
    }
    if (levels[2] == "api" && levels.size() == 3) return api_.take(message);
    if (levels[2] == "fence" && levels.size() == 3) return take_barrier(message);
  }
  log_refused(context_.log, message.topic, "not a topic this gateway reads");
}

void Gateway::take_barrier(const Message& message) {
  if (!mirror_.barrier().is_back(message.payload)) return;  // of an earlier session, or not ours
  if (mirror_.barrier().is_synced()) return mirror_.settled();
  if (options_.hold.empty()) on_synced();
}

// A status that a gateway whose store is lost has published: when its object is gone, nobody else would clear it.
void Gateway::take_status(const std::vector<std::string_view>& levels, const Message& message) {
  const KindName* kind = find_kind(levels[1]);
  if (!message.retain || message.payload.empty() || kind == nullptr || kind->plural != levels[1]) return;
  if (levels.size() != (kind->namespaced ? 4u : 3u)) return;
  context_.publisher.mark(
      kind->kind, kind->namespaced ? std::string(levels[2]) + "/" + std::string(levels[3]) : std::string(levels[2]));
}

void Gateway::take_from_node(const std::vector<std::string_view>& levels, const Message& message) {
  const std::string node(levels[1]);
  const auto refuse = [&](const std::string& why) { log_refused(context_.log, message.topic, why); };
  if (nodes_.find(node) == nullptr && nodes_.all().size() >= kMaxNodes) {
    return refuse("more than " + std::to_string(kMaxNodes) + " nodes are known already");
  }
  if (!is_valid_name(node)) return refuse("not a valid node name");
  const bool is_pod_status = levels.size() == 5 && levels[2] == "pods";
  if (!is_pod_status && levels.size() != 3) return refuse("not a topic of a node");
  if (message.payload.empty()) return;  // a retained message was cleared
  Result<Json> json = Json::parse(message.payload);
  if (!json) return refuse(json.error().message());
  const Status taken = is_pod_status
                           ? placement_.pods().take_status(node, std::string(levels[3]) + "/" + std::string(levels[4]),
                                                           *json, message.payload.size())
                           : placement_.nodes().take_report(node, levels[2], *json);
  if (!taken.is_success()) refuse(taken.message());
}

// A list of answers is taken to its end.
void Gateway::take_answers(const std::string& node, const Message& message) {
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
