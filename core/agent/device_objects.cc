#include "core/agent/device_objects.h"

#include <algorithm>

#include "core/handshake/fields.h"
#include "core/json/json.h"
#include "core/json/members.h"

namespace berth {

namespace {

std::string namespace_of(const Json& manifest) {
  const std::string name_space = member(manifest, "metadata").string_at("namespace");
  return name_space.empty() ? "default" : name_space;
}

Kind kind_of(PodObjectKind kind) { return kind == PodObjectKind::secret ? Kind::secret : Kind::config_map; }

// A record: "<hash> <at>\n<contents>". Without contents: it exists, and is not in this store.
std::string record_of(const std::string& hash, const Epoch& at, const std::string& text) {
  return hash + " " + to_text(at) + "\n" + text;
}

// The epoch of a record; none if it has none.
std::optional<Epoch> epoch_in(const std::string& record) {
  const std::size_t space = record.find(' ');
  const std::size_t end = record.find('\n');
  if (space == std::string::npos || end == std::string::npos || space > end) return std::nullopt;
  const Result<Epoch> at = parse_epoch(record.substr(space + 1, end - space - 1));
  return at ? std::optional<Epoch>(*at) : std::nullopt;
}

// A power cut may bring back the copy of a Secret that had been removed for another state of it.
bool is_older(const std::string& record, const std::string& stored) {
  const std::optional<Epoch> at = epoch_in(record);
  const std::optional<Epoch> last = epoch_in(stored);
  return at && last && *at < *last && record.substr(0, record.find(' ')) != stored.substr(0, stored.find(' '));
}

}  // namespace

DeviceObjects::DeviceObjects(Store& store, VolatileStore* secrets, const Clock& clock, Log& log,
                             std::function<void(const std::string& uid)> changed)
    : store_(store), secrets_(secrets), clock_(clock), log_(log), changed_(std::move(changed)) {}

std::string DeviceObjects::record_key(const Id& id) { return std::string(describe(id.first).plural) + "/" + id.second; }

std::optional<DeviceObjects::Id> DeviceObjects::id_of(std::string_view record_key) {
  const std::size_t slash = record_key.find('/');
  const KindName* kind = find_kind(record_key.substr(0, slash));
  if (slash == std::string_view::npos || kind == nullptr || !is_config(kind->kind)) return std::nullopt;
  return Id{kind->kind, record_key.substr(slash + 1)};
}

void DeviceObjects::restore(const std::map<std::string, std::string>& records) {
  for (const auto& [key, record] : records) restore_one(key, record);
  if (secrets_ == nullptr) return;
  for (const auto& [key, record] : secrets_->load()) {
    const auto stored = records.find(key);
    if (stored == records.end() || !is_older(record, stored->second)) restore_one(key, record);
  }
}

void DeviceObjects::discard() {
  if (secrets_ != nullptr) secrets_->clear();
}

void DeviceObjects::restore_one(const std::string& key, const std::string& record) {
  const std::optional<Id> id = id_of(key);
  const std::size_t space = record.find(' ');
  const std::size_t end = record.find('\n');
  if (!id || space == std::string::npos || end == std::string::npos || space > end) return;
  const Result<Epoch> at = parse_epoch(record.substr(space + 1, end - space - 1));
  const std::string text = record.substr(end + 1);
  missing_[*id] = {record.substr(0, space), Why::lost, 0, true, clock_.now()};
  if (text.empty()) return;
  Result<ConfigContents> contents = decode_contents(text);
  if (!at || !contents) {
    return log_.write(Level::error, "a stored object cannot be read; the gateway gives it again", {{"object", key}});
  }
  auto object = std::make_shared<PodObject>();
  object->values = std::move(contents->values);
  object->immutable = contents->immutable;
  missing_.erase(*id);
  held_[*id] = {record.substr(0, space), *at, text.size(), std::move(object), clock_.now()};
  held_bytes_ += text.size();
}

void DeviceObjects::add_pod(const std::string& uid, const std::string& manifest) {
  if (!may_have_config_names(manifest)) return;
  const Result<Json> json = Json::parse(manifest);
  if (!json) return;
  Pod pod{namespace_of(*json), {}};
  for (const ConfigName& name : config_names_of(*json)) pod.ids.insert({name.kind, pod.name_space + "/" + name.name});
  if (!pod.ids.empty()) pods_[uid] = std::move(pod);
}

void DeviceObjects::remove_pod(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const std::set<Id> ids = std::move(found->second.ids);
  pods_.erase(found);
  for (const Id& id : ids) {
    if (is_referred(id)) continue;
    forget_missing(id);
    erase(id);
  }
  collect();
}

void DeviceObjects::note_admitted(const std::string& uid, const std::vector<ConfigRef>& listed) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  std::set<Id> unlisted = pod->second.ids;
  for (const ConfigRef& ref : listed) unlisted.erase({ref.kind, pod->second.name_space + "/" + ref.key});
  for (const Id& id : pod->second.ids) {
    const auto missing = missing_.find(id);
    if (missing != missing_.end()) {
      miss(id, Missing(missing->second));
    } else if (unlisted.contains(id) && !held_.contains(id)) {
      miss(id, {{}, Why::not_given, 0, false, clock_.now()});
    }
  }
}

bool DeviceObjects::is_referred(const Id& id) const {
  return std::any_of(pods_.begin(), pods_.end(), [&id](const auto& pod) { return pod.second.ids.contains(id); });
}

// Not asked for again, unless it changes or there is more memory.
bool DeviceObjects::is_refused(const Id& id, const std::string& hash) {
  const auto missing = missing_.find(id);
  if (missing == missing_.end() || missing->second.hash != hash) return false;
  missing->second.touched = clock_.now();
  return missing->second.why == Why::no_memory || missing->second.why == Why::unreadable;
}

bool DeviceObjects::has_room(const Id& id, std::size_t bytes) const {
  const auto before = held_.find(id);
  return held_bytes_ - (before == held_.end() ? 0 : before->second.bytes) + bytes <= kHeldBytesMax;
}

// What came for a pod that was not taken after all gives way first. What a PreBind has just asked about stays, or two
// objects of one pod would take each other's place for ever.
bool DeviceObjects::make_room(const Id& id, std::size_t bytes) {
  const Millis now = clock_.now();
  while (!has_room(id, bytes)) {
    auto oldest = held_.end();
    for (auto held = held_.begin(); held != held_.end(); ++held) {
      if (held->first == id || now - held->second.touched <= kIdleMs || is_referred(held->first)) continue;
      if (oldest == held_.end() || held->second.touched < oldest->second.touched) oldest = held;
    }
    if (oldest == held_.end()) return false;
    erase(Id(oldest->first));
  }
  return true;
}

void DeviceObjects::miss(const Id& id, const Missing& missing) {
  Missing& noted = missing_[id];
  const bool was_stored = noted.is_stored;
  const bool is_current = was_stored && noted.hash == missing.hash;
  const bool stores = !held_.contains(id) && is_referred(id);
  noted = missing;
  noted.is_stored = was_stored || stores;
  if (stores && !is_current) store_.put(Table::object, record_key(id), record_of(missing.hash, {}, {}));
}

void DeviceObjects::forget_missing(const Id& id) {
  const auto missing = missing_.find(id);
  if (missing == missing_.end()) return;
  if (missing->second.is_stored && !held_.contains(id)) store_.erase(Table::object, record_key(id));
  missing_.erase(missing);
}

// The one that has been idle longest gives way: what it came for may never be asked for again.
bool DeviceObjects::make_room_for_transfer() {
  if (transfers_.size() < kTransfersMax) return true;
  const auto idle = std::min_element(transfers_.begin(), transfers_.end(), [](const auto& one, const auto& other) {
    return one.second.touched < other.second.touched;
  });
  if (clock_.now() - idle->second.touched <= kIdleMs) return false;
  transfers_.erase(idle);
  return true;
}

void DeviceObjects::want(const Id& id, const std::string& hash, Lacking& lacking) {
  const Millis now = clock_.now();
  const auto missing = missing_.find(id);
  const bool is_known = missing != missing_.end() && missing->second.hash == hash;
  if (!held_.contains(id) && !is_known) miss(id, {hash, Why::coming, 0, false, now});
  auto transfer = transfers_.find(id);
  if (transfer == transfers_.end() || transfer->second.hash != hash) {
    if (transfer == transfers_.end() && !make_room_for_transfer()) {
      lacking.waits = true;
      return;
    }
    transfer = transfers_.insert_or_assign(id, Transfer{hash, 0, {}, now}).first;
  }
  transfer->second.touched = now;
  lacking.wishes.push_back({{id.first, id.second, hash}, transfer->second.taken});
}

Lacking DeviceObjects::lacking(const std::string& manifest, const std::vector<ConfigRef>& listed) {
  collect();
  Lacking lacking;
  const Result<Json> json = Json::parse(manifest);
  if (!json) return lacking;  // it is refused for that
  const std::string prefix = namespace_of(*json) + "/";
  for (const ConfigRef& ref : listed) {
    const Id id{ref.kind, prefix + ref.key};
    if (ref.hash.empty()) {
      forget_missing(id);
      continue;
    }
    const auto held = held_.find(id);
    if (held != held_.end()) held->second.touched = clock_.now();
    const bool is_here = held != held_.end() && held->second.hash == ref.hash;
    if (!is_here && !is_refused(id, ref.hash)) want(id, ref.hash, lacking);
  }
  return lacking;
}

Lacking DeviceObjects::take_offer(const std::vector<ConfigRef>& offered, const Epoch& at) {
  collect();
  Lacking lacking;
  for (const ConfigRef& ref : offered) {
    const Id id{ref.kind, ref.key};
    const auto held = held_.find(id);
    const bool is_held = held != held_.end();
    if ((is_held && at < held->second.at) || !is_referred(id)) continue;
    if (ref.hash.empty()) {
      transfers_.erase(id);
      if (!is_held && !missing_.contains(id)) continue;
      forget_missing(id);
      erase(id);
      tell(id);
      continue;
    }
    if (is_refused(id, ref.hash)) continue;
    // A pod that has an immutable one keeps it, as under a kubelet, which does not watch it.
    if (is_held && (held->second.hash == ref.hash || held->second.object->immutable)) continue;
    want(id, ref.hash, lacking);
  }
  return lacking;
}

void DeviceObjects::take_part(const ConfigPart& part, const Epoch& at) {
  const Id id{part.ref.kind, part.ref.key};
  const auto transfer = transfers_.find(id);
  if (transfer == transfers_.end() || transfer->second.hash != part.ref.hash || transfer->second.taken != part.part) {
    return;
  }
  const auto held = held_.find(id);
  if (held != held_.end() && at < held->second.at) return;
  transfer->second.text += part.text;
  transfer->second.touched = clock_.now();
  if (++transfer->second.taken < part.parts && transfer->second.text.size() <= kConfigContentsMax) return;
  const std::string text = std::move(transfer->second.text);
  transfers_.erase(transfer);
  hold(id, part.ref.hash, text, at);
}

void DeviceObjects::hold(const Id& id, const std::string& hash, const std::string& text, const Epoch& at) {
  Result<ConfigContents> contents = decode_contents(text);
  if (!contents) {
    miss(id, {hash, Why::unreadable, 0, false, clock_.now()});
    return log_.write(Level::error, "an object came that cannot be read",
                      {{"object", record_key(id)}, {"why", contents.error().message()}});
  }
  if (!make_room(id, text.size())) {
    miss(id, {hash, Why::no_memory, text.size(), false, clock_.now()});
    return log_.write(Level::error, "no memory for an object", {{"object", record_key(id)}});
  }
  const auto before = held_.find(id);
  const std::size_t freed = before == held_.end() ? 0 : before->second.bytes;
  missing_.erase(id);
  auto object = std::make_shared<PodObject>();
  object->values = std::move(contents->values);
  object->immutable = contents->immutable;
  held_bytes_ += text.size() - freed;
  held_[id] = {hash, at, text.size(), std::move(object), clock_.now()};
  const std::string record = record_of(hash, at, text);
  const bool is_secret = id.first == Kind::secret;
  // Of a Secret that it exists, so that after a reboot no pod takes it for absent.
  store_.put(Table::object, record_key(id), is_secret ? record_of(hash, at, {}) : record);
  if (is_secret && secrets_ != nullptr) secrets_->put(record_key(id), record);
  tell(id);
}

void DeviceObjects::erase(const Id& id) {
  const auto held = held_.find(id);
  if (held == held_.end()) return;
  held_bytes_ -= held->second.bytes;
  held_.erase(held);
  store_.erase(Table::object, record_key(id));
  if (id.first == Kind::secret && secrets_ != nullptr) secrets_->erase(record_key(id));
  for (auto& [other, missing] : missing_) {
    if (missing.why == Why::no_memory && has_room(other, missing.bytes)) missing.why = Why::coming;
  }
}

// What came for a pod that was not taken after all, or for nobody.
void DeviceObjects::collect() {
  const Millis since = clock_.now() - kUnusedMs;
  std::erase_if(transfers_, [since](const auto& each) { return each.second.touched < since; });
  std::vector<Id> unused;
  for (const auto& [id, held] : held_) {
    if (held.touched < since && !is_referred(id)) unused.push_back(id);
  }
  for (const Id& id : unused) erase(id);
  unused.clear();
  for (const auto& [id, missing] : missing_) {
    if (missing.touched < since && !is_referred(id)) unused.push_back(id);
  }
  for (const Id& id : unused) forget_missing(id);
}

void DeviceObjects::tell(const Id& id) {
  for (const auto& [uid, pod] : pods_) {
    if (pod.ids.contains(id)) changed_(uid);
  }
}

std::shared_ptr<const PodObject> DeviceObjects::find(const Tag& pod, PodObjectKind kind,
                                                     const std::string& name) const {
  const auto user = pods_.find(pod.uid);
  if (user == pods_.end()) return nullptr;
  const Id id{kind_of(kind), user->second.name_space + "/" + name};
  const auto held = user->second.ids.contains(id) ? held_.find(id) : held_.end();
  return held == held_.end() ? nullptr : held->second.object;
}

DeviceObjects::Id DeviceObjects::id_for(const Tag& pod, PodObjectKind kind, const std::string& name) const {
  const auto user = pods_.find(pod.uid);
  return {kind_of(kind), (user == pods_.end() ? std::string("default") : user->second.name_space) + "/" + name};
}

bool DeviceObjects::is_absent(const Tag& pod, PodObjectKind kind, const std::string& name) const {
  const Id id = id_for(pod, kind, name);
  return !held_.contains(id) && !missing_.contains(id);
}

std::string DeviceObjects::why_missing(const Tag& pod, PodObjectKind kind, const std::string& name) const {
  const std::string what = (kind == PodObjectKind::secret ? "secret \"" : "configmap \"") + name + "\"";
  const auto missing = missing_.find(id_for(pod, kind, name));
  if (missing == missing_.end()) return what + " not found";
  switch (missing->second.why) {
    case Why::coming: return what + " is not here yet: the gateway has to send it";
    case Why::lost:
      if (kind == PodObjectKind::config_map) break;
      return what +
             " is not on this device, which loses Secrets when it boots; it waits for the gateway to give it again";
    case Why::not_given: return what + " is not here: the gateway cannot read it, see berthctl status";
    case Why::no_memory: return what + " is not here: this device holds at most 16 MiB of them";
    case Why::unreadable: return what + " is not here: what the gateway sent cannot be read";
  }
  return what + " is not on this device any more; it waits for the gateway to give it again";
}

}  // namespace berth
