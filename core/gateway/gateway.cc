// Start, dispatch and the turn.
#include "core/gateway/gateway.h"

#include <algorithm>

#include "core/api/names.h"
#include "core/handshake/fields.h"
#include "core/objects/look_ups.h"
#include "core/placement/queue_positions.h"
#include "core/placement/retired.h"

namespace berth {

namespace {

constexpr Millis kTickMs = 1000;
// Of one turn: so long what is known is marked for publishing after a connect, and so long mirrors and statuses are
// published.
constexpr std::int64_t kRepublishUs = 5'000;
constexpr std::int64_t kPublishUs = 5'000;
constexpr std::int64_t kControllersUs = 10'000;  // so long controllers begin with one more object in one turn
constexpr std::int64_t kPrepareUs = 10'000;      // so long prepare_ahead() works in the turn of a tick

// What the broker retains may be on its disk, and is read by every operator: no Secret. What is larger than a message
// cannot be retained at all.
std::optional<std::string> mirrored_text(const Objects& objects, Kind kind, const std::string& key) {
  if (kind == Kind::secret) return std::nullopt;
  const PodEntry* pod = kind == Kind::pod ? objects.pods().find(key) : nullptr;
  if (pod != nullptr && !is_mirrored(*pod->pod)) return std::nullopt;
  std::optional<std::string> text = objects.text(kind, key);
  if (text && text->size() > kMessageLimits.bytes) text.reset();
  return text;
}

}  // namespace

Gateway::Gateway(GatewayOptions options, const Registry& registry, const Clock& clock, Transport& transport,
                 Store& store, Timers& timers, Log& log)
    : options_(std::move(options)),
      registry_(registry),
      transport_(transport),
      random_(options_.seed),
      topics_(options_.fleet),
      turn_(store, transport),
      objects_(store, options_.sealer),
      nodes_(store, clock, options_.node_limits),
      identity_(store),
      mirror_(turn_, topics_, clock, store, objects_, identity_, options_.gateway),
      events_(turn_, topics_, clock, store),
      admission_{store},
      context_{options_, clock,  store,     timers,   log,
               random_,  turn_,  topics_,   metrics_, admission_,
               objects_, nodes_, identity_, mirror_,  mirror_.publisher(),
               events_},
      placement_(context_),
      workloads_(context_, placement_),
      orders_(context_, placement_),
      view_(context_, placement_),
      desired_(context_, orders_),
      api_(context_, placement_, workloads_, orders_, view_),
      dispatcher_(context_, placement_, desired_, api_, [this] { on_synced(); }),
      watch_(context_) {
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
  workloads_.begin();
  if (const std::string why = locked_secrets(objects_); !why.empty()) {
    context_.log.write(Level::error, "Secrets cannot be read, and are kept as they are", {{"reason", why}});
  }
  context_.log.write(Level::info, "gateway started",
                     {{"fleet", options_.fleet},
                      {"gateway", options_.gateway},
                      {"seed", std::to_string(options_.seed)},
                      {"term", std::to_string(identity_->id.term)},
                      {"store", identity_->id.store_id},
                      {"pods", std::to_string(objects_.pods().all().size())},
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
  watch_.begin();
  // A store that is new, lost or an older copy: only the answers of the nodes can tell which, and what runs there (P8).
  // Once the retained state has arrived, all of them are known.
  const bool waits_for_listed = identity_->adopting && identity_->adopt_nodes.empty();
  if (waits_for_listed) {
    Identity& identity = identity_.edit();
    identity.adopt_nodes = {options_.known_nodes.begin(), options_.known_nodes.end()};
    if (!identity.is_new) identity.adopt_nodes.insert(options_.enrolled_nodes.begin(), options_.enrolled_nodes.end());
  }
  return Status::ok();
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
      if (record.key.starts_with(PastOrders::kRecords)) return mirror_.past().load(record);
      if (record.key == VolumeBinder::kRecord) return placement_.load(record);
      return Status::error("stored meta \"" + std::string(record.key) + "\" is not known");
    case Table::queue:
      if (record.key.starts_with(EventRecorder::kRecords)) return events_.load(record);
      return placement_.load(record);
    default: return placement_.load(record);
  }
}

Status Gateway::finish_turn() {
  const std::int64_t republish_end_us = context_.clock.now_us() + kRepublishUs;
  mirror_.republish(republish_end_us);
  placement_.ask_nodes(republish_end_us);
  if (workloads_.run(context_.clock.now_us() + kControllersUs)) turn_again();
  placement_.lifecycle().retry_provisioned();
  placement_.lifecycle().begin_deferred();
  if (placement_.schedule_pending()) turn_again();
  dispatcher_.end_turn();
  placement_.lifecycle().configs().send_offers();
  identity_.save();
  // Positions go with what is written anyway, and so do events if that is soon.
  const bool writes = context_.store.next_position() != position_;
  if (!saving_writes_ && writes) save_positions(context_, placement_.scheduler().queue(), false);
  if (!saving_writes_) events_.save(writes);
  if (std::exchange(ticked_, false)) context_.publisher.tick();
  // Before the barrier is back nothing is published: it is not known what the broker retains, and all will be marked.
  if (mirror_.barrier().is_synced()) publish();
  mirror_.end_turn();
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
       [this](Kind kind, const std::string& key) { return mirrored_text(objects_, kind, key); },
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
  watch_.tick();
  events_.expire();
  placement_.scheduler().queue().flush();
  placement_.nodes().check_silence();
  placement_.nodes().end_backoffs();
  placement_.refusals().tick();
  placement_.nodes().take_states_put_off();
  placement_.takeover().tick();
  placement_.twins().tick();
  placement_.nodes().compare_periodically();
  placement_.statuses().tick();
  if (!saving_writes_) objects_.workloads().save_deferred();
  // What is still pending is newer than what the broker would deliver, and would be taken for an order to go back.
  if (!context_.publisher.has_pending_mirrors()) read_refused_again();
  const SyncBarrier& barrier = mirror_.barrier();
  if (barrier.is_synced()) mirror_.settle();
  if (barrier.is_synced()) prepare_ahead();
  if (barrier.is_synced() && placement_.statuses().take_unread()) subscribe_to_reports();
  if (barrier.is_link_up() && !barrier.is_synced()) mirror_.barrier().send();  // the last one may have been lost
}

// What the next pod needs of all nodes; what there is no time for, at the next tick.
void Gateway::prepare_ahead() {
  const std::int64_t end_us = context_.clock.now_us() + kPrepareUs;
  while (placement_.scheduler().prepare_ahead() && context_.clock.now_us() < end_us) {
  }
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

bool Gateway::was_itself(const Leader& leader, bool is_same_machine) const {
  if (!is_same_machine) return false;
  const Identity& own = *identity_;
  if (leader.id.store_id == own.id.store_id) return own.terms.may_contain(leader.id.term, own.id.term);
  // A store that was lost, or an older copy: the nodes are asked already. Once this one has led, a copy of its machine
  // has served since, and those that have answered do not say again what that one gave them.
  return own.adopting && !own.followed && !own.led;
}

void Gateway::lead(const std::optional<std::uint64_t>& followed) {
  if (is_on_hold()) return;
  if (followed) {
    context_.log.write(Level::error,
                       "another gateway has served the fleet; pods are placed when all nodes have reported",
                       {{"store", identity_->id.store_id}});
    watch_.disown(std::max(*followed, identity_->id.term));
    context_.publisher.set_mirror_mark(identity_->id.store_id);
    placement_.comparison().give_up_promises();
    placement_.adopt_mode().follow();
  }
  if (identity_->adopting && !identity_->led) identity_.edit().led = true;
}

void Gateway::say_goodbye() {
  save_positions(context_, placement_.scheduler().queue(), true);
  placement_.pods().save_deferred();
  objects_.workloads().save_deferred();
  events_.save_all();
  watch_.mark();
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
  dispatcher_.clear();
  placement_.reset_session();
  if (!up) return;
  metrics_.connections.at().add();
  mirror_.start_session();
  desired_.start_session();
  subscribe();
  mirror_.barrier().raise();
  mirror_.barrier().send();
}

// QoS 0: the broker truncates the retained set of a QoS 1 subscriber above its queue limit.
void Gateway::subscribe() {
  const std::string& root = topics_.root();
  transport_.subscribe(topics_.gateway_fence(options_.gateway), 1);  // the mark comes before the orders it tells of
  subscribe_to_desired();
  if (identity_->statuses_unread) subscribe_to_statuses();
  for (const char* filter : {"nodes/+/presence", "nodes/+/state"}) transport_.subscribe(root + filter, 0);
  subscribe_to_reports();
  transport_.subscribe(root + "nodes/+/heartbeat", 0);
  transport_.subscribe(root + "gateways/" + options_.gateway + "/answers/+", 1);
  transport_.subscribe(topics_.gateway_api(options_.gateway), 1);
}

void Gateway::subscribe_to_statuses() { transport_.subscribe(topics_.root() + "status/#", 0, {.no_local = true}); }

void Gateway::subscribe_to_reports() { transport_.subscribe(topics_.root() + "nodes/+/pods/+/+", 0); }

// Retained mirrors come with a new subscription; those of now are known, and would cost a third of a bind's bytes. A
// manifest that an operator left retained needs no mirror, which retain-as-published tells.
void Gateway::subscribe_to_desired() {
  transport_.subscribe(topics_.root() + "desired/#", 0, {.no_local = true, .retain_as_published = true});
}

// All retained state has arrived: what the broker lost is published again, and every known node is asked.
void Gateway::on_synced() {
  mirror_.barrier().set_synced();
  // With orders from before their replacement may come statuses of objects that are gone.
  if (mirror_.past().newest() > mirror_.past().marked()) subscribe_to_statuses();
  mirror_.on_synced();
  placement_.on_synced();
  if (!identity_->adopting && identity_->statuses_unread) identity_.edit().statuses_unread = false;
  context_.log.write(
      Level::info, "in step with the broker",
      {{"pods", std::to_string(objects_.pods().all().size())}, {"nodes", std::to_string(nodes_.all().size())}});
}

}  // namespace berth
