// Start, dispatch and the turn.
#include "core/gateway/gateway.h"

#include "core/check.h"

namespace berth {

namespace {
constexpr Millis kTickMs = 1000;
// Of one turn: so long what is known is said anew after a connect, and so long mirrors and statuses are published.
constexpr std::int64_t kRepublishUs = 5'000;
constexpr std::int64_t kShowUs = 5'000;
// What republish_all() brings the board to owe: names that would take room while a slow broker is told of those before
// them.
constexpr std::size_t kOwedMax = 2'000;
constexpr std::size_t kMaxNodes = 20'000;  // a node is kept for each authenticated name that ever spoke
// The sets of an identity, by their name in its record.
std::map<std::string, std::set<std::string>*> named_sets(Gateway::Identity& identity) {
  return {{"orphans", &identity.orphans},
          {"ending", &identity.ending},
          {"deleted", &identity.deleted},
          {"retired", &identity.retired},
          {"withdrawn", &identity.withdrawn}};
}
}  // namespace

Gateway::Gateway(GatewayOptions options, const Registry& registry, const Clock& clock, Transport& transport,
                 Store& store, Timers& timers, Log& log)
    : options_(std::move(options)),
      registry_(registry),
      clock_(clock),
      transport_(transport),
      store_(store),
      timers_(timers),
      log_(log),
      random_(options_.seed),
      topics_(options_.fleet),
      turn_(store, transport),
      requests_(turn_, [](const std::vector<Request>& requests) { return encode_all(requests); }),
      objects_(store),
      nodes_(store, clock),
      publisher_(turn_, topics_, clock),
      scheduler_(clock, objects_, *this, {options_.queue, options_.seed, {}, &metrics_, /*remembers=*/true}),
      cache_(scheduler_.cache()),
      queue_(scheduler_.queue()) {
  last_list_ = random_.next() >> 16;  // listings of an earlier run must not be taken for ours
  transport_.set_handler(this);
  objects_.count_running_by([this](std::string_view uid) {
    const auto found = bindings_.find(uid);
    return found != bindings_.end() && found->second.row.phase == Phase::bound;
  });
}

Gateway::~Gateway() {
  transport_.set_handler(nullptr);
  timers_.cancel(tick_);
  timers_.cancel(again_);
  timers_.cancel(permit_timer_);
  timers_.cancel(inbox_timer_);
  for (auto& [key, release] : releases_) timers_.cancel(release.resend);
  for (auto& [node, listing] : listings_) timers_.cancel(listing.resend);
  for (auto& [uid, binding] : bindings_) {
    binding.cancel(timers_);
    // A crash undoes nothing: what the rows say is what the next start resumes.
    const std::unique_ptr<BindingCycle>& cycle = binding.journey().cycle;
    if (cycle && cycle->reservation) cycle->reservation->commit();
  }
}

Status Gateway::start() {
  for (const Profile& profile : options_.profiles) {
    const Status added = scheduler_.add_profile(registry_, profile);
    if (!added.is_success()) return Status::unresolvable("profile " + profile.scheduler_name + ": " + added.message());
  }
  if (options_.profiles.empty()) return Status::unresolvable("profiles: at least one is wanted");
  if (Status loaded = load(); !loaded.is_success()) return loaded;
  recover();
  tick_ = timers_.at(clock_.now() + kTickMs, [this] { tick(); });
  return Status::ok();
}

Status Gateway::load() {
  Status read = store_.read([this](const RecordView& record) { return load_record(record); });
  if (!read.is_success()) return read;
  for (const std::string& node : options_.known_nodes) {
    if (nodes_.find(node) != nullptr || !is_retired(node)) nodes_.expect(node);
  }
  if (!identity_.id.store_id.empty()) return Status::ok();
  // First boot of this store, or its loss: only the answers of the nodes can tell which (P8). on_fence() knows them
  // all.
  identity_.id = {1, random_.hex_id()};
  identity_.adopt_nodes = {options_.known_nodes.begin(), options_.known_nodes.end()};
  identity_.adopting = true;
  identity_.statuses_unread = true;
  identity_changed_ = true;
  return Status::ok();
}

Status Gateway::load_record(const RecordView& record) {
  switch (record.table) {
    case Table::meta: return load_meta(record);
    case Table::object: return objects_.load(record);
    case Table::node: return nodes_.load(record);
    case Table::queue: return load_place(record);
    case Table::row: {
      Result<Row> row = decode_row(record.value, record.phase);
      if (!row) return Status::error("stored row " + std::string(record.key) + ": " + row.error().message());
      rows_loaded_.push_back(std::move(*row));
      return Status::ok();
    }
    case Table::release: {
      Result<ReleaseEntry> entry = decode_release_entry(record.value);
      if (!entry) {
        return Status::error("stored release entry " + std::string(record.key) + ": " + entry.error().message());
      }
      restore_release(std::move(*entry));
      return Status::ok();
    }
    case Table::slot:
    case Table::high: return Status::error("the store holds slots: it is a device agent's, not a gateway's");
  }
  return Status::error("stored record " + std::string(record.key) + ": of an unknown table");
}

Status Gateway::load_meta(const RecordView& record) {
  if (record.key == "doomed") return load_terminating(record);
  if (record.key.starts_with(SupersededOrders::kRecords)) return superseded_.load(record);
  if (record.key != "gateway") return Status::error("stored meta \"" + std::string(record.key) + "\" is not known");
  Result<Json> json = Json::parse(record.value, {.bytes = record.value.size(), .depth = 8});
  const Json* term = json ? json->find("term") : nullptr;
  const Json* store_id = json ? json->find("storeId") : nullptr;
  const Json* adopt = json ? json->find("adopt") : nullptr;
  if (term == nullptr || !term->is_string() || store_id == nullptr || !store_id->is_string()) {
    return Status::error("stored meta \"gateway\": term and storeId are wanted");
  }
  Result<Epoch> epoch = parse_epoch(term->as_string());
  if (!epoch) return Status::error("stored meta \"gateway\": term: " + epoch.error().message());
  identity_.id = {epoch->term, store_id->as_string()};
  identity_.statuses_unread = json->find("statusesUnread") != nullptr;
  if (adopt != nullptr && adopt->is_array()) {
    identity_.adopting = true;
    for (const Json& node : adopt->as_array()) {
      if (node.is_string()) identity_.adopt_nodes.insert(node.as_string());
    }
  }
  for (const auto& [key, set] : named_sets(identity_)) {
    const Json* list = json->find(key);
    if (list == nullptr || !list->is_array()) continue;
    for (const Json& name : list->as_array()) {
      if (name.is_string()) set->insert(name.as_string());
    }
  }
  return Status::ok();
}

void Gateway::save_identity() {
  if (!std::exchange(identity_changed_, false)) return;
  Json value = Json::object();
  value.set("term", to_text(Epoch{identity_.id.term, 0}));
  value.set("storeId", identity_.id.store_id);
  if (identity_.adopting) {
    Json nodes = Json::array();
    for (const std::string& node : identity_.adopt_nodes) nodes.push_back(node);
    value.set("adopt", std::move(nodes));
  }
  if (identity_.statuses_unread) value.set("statusesUnread", true);
  for (const auto& [key, set] : named_sets(identity_)) {
    if (set->empty()) continue;
    Json list = Json::array();
    for (const std::string& name : *set) list.push_back(name);
    value.set(key, std::move(list));
  }
  store_.put(Table::meta, "gateway", value.dump());
}

Status Gateway::finish_turn() {
  republish_all();
  look_for_provisioned();
  begin_deferred();
  schedule_pending();
  end_inbox_turn();
  save_identity();
  save_places(false);
  if (std::exchange(ticked_, false)) publisher_.tick();
  // Before the fence nothing is shown: it is not known what the broker retains, and republish_all() will owe
  // everything.
  if (synced_) show();
  const Status finished = turn_.finish();
  position_ = store_.next_position();
  if (synced_ && has_more_to_say()) turn_again();
  return finished;
}

// What the link has no room for goes on when it has, see on_send_window().
bool Gateway::has_more_to_say() const {
  const bool has_more_to_show = publisher_.owed() > 0 || to_show_ < kinds().size();
  return !to_republish_.empty() || (has_more_to_show && transport_.send_window() > 0);
}

void Gateway::show() {
  const std::int64_t end_us = clock_.now_us() + kShowUs;
  publisher_.publish({[this](Kind kind, const std::string& key) { return status_to_publish(kind, key); },
                      [this](Kind kind, const std::string& key) { return objects_.text(kind, key); },
                      [this](Kind kind, const std::string& key) { return kind == Kind::pod && is_on_its_way(key); },
                      [this](Kind kind, const std::string& key) { superseded_.mirrored({kind, key}, fence_ + 1); }},
                     transport_.send_window(), [this, end_us] { return clock_.now_us() >= end_us; });
}

// What a turn left undone is gone on with in the next one, at once.
void Gateway::turn_again() {
  if (again_ == 0) again_ = timers_.at(clock_.now(), [this] { again_ = 0; });
}

// About to be decided, or asked of a node: it is bound in a moment, and one status tells it, since on the radio each
// costs as much as a request. One that is on its way for longer is shown with the next tick.
bool Gateway::is_on_its_way(const std::string& key) const {
  const PodEntry* entry = objects_.find_pod(key);
  if (entry == nullptr || entry->deleting) return false;
  const auto found = bindings_.find(entry->pod->uid());
  if (found == bindings_.end()) return queue_.where(entry->pod->uid()) == Queue::Where::active;
  return found->second.journey().deferred || found->second.row.phase == Phase::prebind ||
         found->second.row.phase == Phase::bind;
}

void Gateway::tick() {
  ticked_ = true;
  tick_ = timers_.at(clock_.now() + kTickMs, [this] { tick(); });
  queue_.flush();
  check_silence();
  compare_now_and_then();
  // What is owed still is newer than what the broker would bring: it would be taken for an order to go back.
  if (!publisher_.owes_mirrors()) read_turned_away();
  if (synced_) settle_mirrors();
  if (link_up_ && !synced_) send_fence();  // nothing promises that the last one came through
}

Status Gateway::capacity() { return refusing_.empty() ? store_.capacity() : Status::unschedulable(refusing_); }

// What stays retained on the broker was refused: with room again, a new subscription brings it once more. What a
// device offers is known.
void Gateway::read_turned_away() {
  if ((!turned_away_ && volumes_turned_away_.empty()) || !capacity().is_success()) return;
  for (const std::string& node : std::exchange(volumes_turned_away_, {})) {
    if (nodes_.find(node) != nullptr) refresh_local_volumes(node);
  }
  if (!turned_away_ || !link_up_) return;
  turned_away_ = false;
  reading_again_ = true;
  subscribe_to_desired();
}

// Retained mirrors come with a new subscription; those of now are known, and would cost a third of a bind's bytes.
// What an operator had retained needs no mirror: the flag as published tells.
void Gateway::subscribe_to_desired() {
  transport_.subscribe(topics_.root() + "desired/#", 0, {.no_local = true, .retain_as_published = true});
}

void Gateway::send_fence() {
  Message fence;
  fence.topic = topics_.gateway_fence(options_.gateway);
  fence.payload = Json(Json::Object{{"fence", Json(std::to_string(fence_))}}).dump();
  turn_.send(std::move(fence));
}

Message Gateway::will() const {
  Message message;
  message.topic = topics_.gateway_presence(options_.gateway);
  message.retain = true;
  message.payload = Json(Json::Object{{"online", Json(false)}, {"storeId", Json(identity_.id.store_id)}}).dump();
  return message;
}

void Gateway::say_goodbye() {
  save_places(true);
  save_deferred();
  turn_.send(will());
}

Gateway::Readiness Gateway::readiness() const {
  Readiness is;
  is.store = options_.hold;
  if (!link_up_) is.broker = "the broker is not connected";
  if (!synced_) {
    is.synced = "retained state is still arriving from the broker";
  } else if (identity_.adopting) {
    std::string nodes;
    for (const std::string& node : identity_.adopt_nodes) nodes += (nodes.empty() ? "" : ", ") + node;
    is.synced =
        "the store is new: these nodes must list what they run, or be forgotten, before pods are placed: " + nodes;
  }
  return is;
}

std::string Gateway::damaged_stores() const {
  std::string told;
  for (const std::string& path : options_.set_aside) told += (told.empty() ? "" : ", ") + path;
  return told.empty() ? told : "damaged and set aside: " + told;
}

std::string Gateway::not_ready() const {
  const Readiness is = readiness();
  for (const std::string* why : {&is.store, &is.broker, &is.synced}) {
    if (!why->empty()) return *why;
  }
  return {};
}

void Gateway::on_link(bool up) {
  link_up_ = up;
  synced_ = false;
  inboxes_.clear();
  for (auto& [node, listing] : listings_) timers_.cancel(listing.resend);
  listings_.clear();
  if (!up) return;
  metrics_.connections.at().add();
  ++session_;
  seen_desired_.clear();
  to_show_ = kinds().size();
  to_republish_.clear();
  under_way_.clear();
  clearings_.clear();
  superseded_.connected();
  publisher_.forget_mirrors();  // of what the broker does not have republish_all() owes them anew
  settling_.reset();
  turned_away_ = false;
  reading_again_ = false;
  const std::string& root = topics_.root();
  // QoS 0: the broker truncates the retained set of a QoS 1 subscriber above its queue limit.
  subscribe_to_desired();
  if (identity_.statuses_unread) transport_.subscribe(root + "status/#", 0, {.no_local = true});
  for (const char* filter : {"nodes/+/presence", "nodes/+/state", "nodes/+/pods/+/+"}) {
    transport_.subscribe(root + filter, 0);
  }
  transport_.subscribe(root + "nodes/+/heartbeat", 0);
  transport_.subscribe(root + "gateways/" + options_.gateway + "/answers/+", 1);
  transport_.subscribe(topics_.gateway_api(options_.gateway), 1);
  transport_.subscribe(topics_.gateway_fence(options_.gateway), 1);
  ++fence_;
  send_fence();
  Message presence = will();
  presence.payload = Json(Json::Object{{"online", Json(true)},
                                       {"storeId", Json(identity_.id.store_id)},
                                       {"term", Json(std::to_string(identity_.id.term))}})
                         .dump();
  turn_.send(std::move(presence));
}

// Everything retained has arrived: what the broker lost is published again, and every known node is asked.
void Gateway::on_fence() {
  if (synced_ || !options_.hold.empty()) return;
  synced_ = true;
  to_show_ = 0;
  shown_.clear();
  for (const auto& [named, fence] : cleared_) publisher_.mark(named.first, named.second);
  for (const auto& [kind, key] : superseded_.objects()) mirror(kind, key);
  if (identity_.adopting) {
    // One that is offline may run pods all the same: it is waited for until it answers, or the operator forgets it.
    for (const auto& [name, device] : nodes_.all()) {
      if (!is_retired(name)) identity_.adopt_nodes.insert(name);
    }
    identity_changed_ = true;
    if (identity_.adopt_nodes.empty()) end_adopt();
  }
  if (!identity_.adopting && std::exchange(identity_.statuses_unread, false)) identity_changed_ = true;
  for (const auto& [name, device] : nodes_.all()) to_republish_.push_back(name);
  log_.write(Level::info, "in step with the broker",
             {{"pods", std::to_string(objects_.pods().size())}, {"nodes", std::to_string(nodes_.all().size())}});
}

// Behind on_fence(), as much as a turn has time for: there may be tens of thousands of objects and nodes.
void Gateway::republish_all() {
  const std::int64_t end_us = clock_.now_us() + kRepublishUs;
  bool is_behind = false;
  while (to_show_ < kinds().size() && !is_behind && clock_.now_us() < end_us) {
    const Kind kind = kinds()[to_show_].kind;
    std::optional<std::string> key = objects_.next_key(kind, shown_);
    if (key) {
      if (!is_seen(kind, *key)) mirror(kind, *key);
      publisher_.mark(kind, *key);
    } else {
      ++to_show_;
    }
    shown_ = std::move(key).value_or("");
    is_behind = publisher_.owed() >= kOwedMax;
  }
  for (; !to_republish_.empty() && clock_.now_us() < end_us; to_republish_.pop_front()) {
    const std::string& name = to_republish_.front();
    if (nodes_.find(name) == nullptr) continue;
    publisher_.mark(Kind::node, name);
    list_node(name);
    resend_all(name);
  }
}

void Gateway::refuse(std::string_view what, const std::string& why) {
  log_.write(Level::warn, "refused", {{"topic", std::string(what)}, {"reason", why}});
}

void Gateway::on_message(const Message& message) {
  metrics_.messages.at({"in"}).add();
  const std::vector<std::string_view> levels = topics_.split(message.topic);
  if (levels.size() < 2) return refuse(message.topic, "not a topic of this fleet");
  // Without its store the gateway must not speak to devices, nor take anything in: it could not keep it.
  if (!options_.hold.empty() && levels[0] != "gateways") return;
  if (put_off(levels, message)) return;
  dispatch(levels, message);
}

void Gateway::dispatch(const std::vector<std::string_view>& levels, const Message& message) {
  if (levels[0] == "desired") return on_desired(levels, message);
  if (levels[0] == "status") return on_status(levels, message);
  if (levels[0] == "nodes") {
    if (nodes_.find(std::string(levels[1])) == nullptr && nodes_.all().size() >= kMaxNodes) {
      return refuse(message.topic, "more than " + std::to_string(kMaxNodes) + " nodes are known already");
    }
    return on_node(levels, message);
  }
  if (levels[0] != "gateways" || levels.size() < 3 || levels[1] != options_.gateway) {
    return refuse(message.topic, "not a topic this gateway reads");
  }
  if (levels[2] == "answers" && levels.size() == 4) {
    if (!options_.hold.empty()) return;
    return hear_answers(std::string(levels[3]), message);
  }
  if (levels[2] == "api" && levels.size() == 3) return on_api(message);
  if (levels[2] == "fence" && levels.size() == 3) {
    Result<Json> json = Json::parse(message.payload);
    const Json* number = json ? json->find("fence") : nullptr;
    // Another fence is of an earlier session, or not ours.
    if (number != nullptr && *number == Json(std::to_string(fence_))) synced_ ? mirrors_settled() : on_fence();
    return;
  }
  refuse(message.topic, "not a topic this gateway reads");
}

}  // namespace berth
