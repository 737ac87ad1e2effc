#include "core/placement/config_delivery.h"

#include <algorithm>

#include "core/api/config_objects.h"
#include "core/handshake/siphash.h"

namespace berth {

namespace {

constexpr std::size_t kSpareNames = 64;  // of pods that have gone, before they are looked for

std::string key_in(const Pod& pod, const ConfigName& name) {
  return std::string(pod.metadata.namespace_) + "/" + name.name;
}

// Under a key that devices do not have, and of the object's name too: from what is on a device's flash nobody can try
// which Secret it stands for, be it by objects of their own with contents that they guess.
std::string keyed_hash(const std::optional<ProofKey>& key, const std::pair<Kind, std::string>& id,
                       std::string_view text) {
  constexpr std::size_t kBytes = 8;
  std::string named(describe(id.first).name);
  named.append("/").append(id.second).append("\n").append(text);
  const SipTag tag = siphash(key.value_or(ProofKey{}), named);
  std::string hash;
  for (std::size_t i = 0; i < kBytes; ++i) {
    for (const unsigned digit : {tag[i] / 16u, tag[i] % 16u}) hash += "0123456789abcdef"[digit];
  }
  return hash;
}

}  // namespace

ConfigDelivery::~ConfigDelivery() {
  for (auto& [node, offer] : offers_) context_.timers.cancel(offer.resend);
}

const std::vector<ConfigName>& ConfigDelivery::names_of(const Pod& pod) {
  static const std::vector<ConfigName> kNone;
  const std::string uid(pod.uid());
  if (const auto known = names_.find(uid); known != names_.end()) return known->second;
  const Manifest manifest = pod.manifest();
  if (!may_have_config_names(manifest.text())) return kNone;
  if (names_.size() > 2 * state_.bindings.size() + kSpareNames) {
    std::erase_if(names_, [this](const auto& each) { return state_.find(each.first) == nullptr; });
  }
  std::vector<ConfigName> names = config_names_of(manifest.json());
  return names.empty() ? kNone : names_.emplace(uid, std::move(names)).first->second;
}

std::string ConfigDelivery::text_of(const Id& id) const {
  const auto read = [&id](const auto& object) {
    return object == nullptr ? std::string()
                             : encode(ConfigContents{values_of(id.first, object->manifest), object->immutable});
  };
  return id.first == Kind::secret ? read(context_.objects.find<Secret>(id.second))
                                  : read(context_.objects.find<ConfigMap>(id.second));
}

// A large object is asked for a few parts at a time, and not encoded again for each of these.
const std::string& ConfigDelivery::encoded(const Id& id, const std::string& hash) {
  if (encoded_.id != id || encoded_.hash != hash) encoded_ = {id, hash, text_of(id)};
  return encoded_.text;
}

bool ConfigDelivery::is_locked(const Id& id) const {
  const auto secret = id.first == Kind::secret ? context_.objects.find<Secret>(id.second) : nullptr;
  return secret != nullptr && !secret->locked.empty();
}

std::string ConfigDelivery::hash_of(const Id& id) {
  if (is_locked(id)) return {};
  std::shared_ptr<const void> object = context_.objects.find<ConfigMap>(id.second);
  if (id.first == Kind::secret) object = context_.objects.find<Secret>(id.second);
  if (object == nullptr) {
    contents_.erase(id);
    return {};
  }
  Contents& known = contents_[id];
  if (known.object != object) {
    const std::string text = text_of(id);
    known = {object, keyed_hash(context_.options.proof_key, id, text), config_parts(text).size()};
  }
  return known.hash;
}

void ConfigDelivery::add_refs(const Pod& pod, Request& pre_bind) {
  for (const ConfigName& name : names_of(pod)) {
    // Listed without a hash it would count as absent, and a pod for which it is optional would run without it.
    if (is_locked({name.kind, key_in(pod, name)})) continue;
    pre_bind.configs.push_back({name.kind, name.name, hash_of({name.kind, key_in(pod, name)})});
  }
}

Request ConfigDelivery::request_to(const std::string& node, RequestType type) const {
  Request request(type);
  const DeviceNode* device = context_.nodes.find(node);
  if (device != nullptr) request.incarnation = device->incarnation;
  request.position = context_.store.next_position();
  return request;
}

void ConfigDelivery::send_parts(const std::string& node, const std::vector<ConfigWish>& wishes) {
  std::size_t sent = 0;
  std::set<Id> seen;
  for (const ConfigWish& wish : wishes) {
    if (sent == kPartsAtOnce) break;
    const Id id{wish.ref.kind, wish.ref.key};
    // What has changed since is named again by what follows.
    if (!seen.insert(id).second || wish.ref.hash.empty() || hash_of(id) != wish.ref.hash) continue;
    if (wish.part >= contents_.at(id).parts) continue;
    const std::vector<std::string_view> parts = config_parts(encoded(id, wish.ref.hash));
    std::size_t part = wish.part;
    for (; part < parts.size() && sent < kPartsAtOnce; ++part, ++sent) {
      Request request = request_to(node, RequestType::config);
      request.config = {wish.ref, static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(parts.size()),
                        std::string(parts[part])};
      sender_.send(node, std::move(request), {}, Floor::leave);
    }
    if (part == parts.size()) encoded_ = {};
  }
}

// Only a pod's own objects are for its node: a device that lies gets no others.
void ConfigDelivery::take_lacks(const Answer& answer) {
  // Whom requests are for must be known: after a restart a device may answer before it has said that.
  const DeviceNode* device = context_.nodes.find(answer.node);
  if (device == nullptr || device->incarnation.empty()) return;
  if (answer.gateway_id != context_.nodes.id_towards(answer.node, context_.identity->id)) return;
  if (!answer.uid.empty()) {
    Binding* binding = state_.find(answer.uid);
    const bool is_asked = binding != nullptr && binding->row.phase == Phase::prebind && binding->pod != nullptr &&
                          binding->row.node == answer.node && binding->row.epoch == answer.epoch &&
                          binding->row.incarnation == answer.incarnation;
    if (!is_asked) return;
    std::vector<ConfigWish> wishes;
    const std::vector<ConfigName>& names = names_of(*binding->pod);
    std::copy_if(answer.wishes.begin(), answer.wishes.end(), std::back_inserter(wishes), [&](const ConfigWish& wish) {
      return std::any_of(names.begin(), names.end(), [&](const ConfigName& name) {
        return name.kind == wish.ref.kind && key_in(*binding->pod, name) == wish.ref.key;
      });
    });
    send_parts(answer.node, wishes);
    return ask_again_(*binding);
  }
  const auto found = offers_.find(answer.node);
  if (found == offers_.end() || found->second.offered.empty() || answer.position != found->second.number) return;
  Offer& offer = found->second;
  if (answer.wishes.empty()) {
    context_.timers.cancel(offer.resend);
    offer.offered.clear();
    return;
  }
  std::vector<ConfigWish> wishes;
  std::copy_if(answer.wishes.begin(), answer.wishes.end(), std::back_inserter(wishes),
               [&](const ConfigWish& wish) { return offer.offered.contains({wish.ref.kind, wish.ref.key}); });
  send_parts(answer.node, wishes);
  offer.resends = 0;
  send_offer(answer.node, offer);
}

void ConfigDelivery::note_listed(const std::string& node) {
  for (const Binding* binding : rows_of(state_, node)) {
    if (binding->pod == nullptr) continue;
    for (const ConfigName& name : names_of(*binding->pod)) {
      const Id id{name.kind, key_in(*binding->pod, name)};
      if (!hash_of(id).empty()) offers_[node].waiting.insert(id);
    }
  }
}

void ConfigDelivery::note_changes() {
  const std::vector<Id> changed = context_.objects.configs().take_changed();
  if (changed.empty()) return;
  const std::set<Id> ids(changed.begin(), changed.end());
  for (const Id& id : ids) contents_.erase(id);
  for (auto pod = names_.begin(); pod != names_.end();) {
    const Binding* binding = state_.find(pod->first);
    if (binding == nullptr || binding->pod == nullptr) {
      pod = names_.erase(pod);
      continue;
    }
    for (const ConfigName& name : pod->second) {
      const Id id{name.kind, key_in(*binding->pod, name)};
      if (ids.contains(id) && !is_locked(id)) offers_[std::string(binding->row.node)].waiting.insert(id);
    }
    ++pod;
  }
}

void ConfigDelivery::send_offers() {
  note_changes();
  const Millis now = context_.clock.now();
  std::erase_if(offers_, [now](const auto& each) {
    return each.second.waiting.empty() && each.second.offered.empty() && now - each.second.begun >= kOfferEveryMs;
  });
  for (auto& [node, offer] : offers_) {
    const DeviceNode* device = context_.nodes.find(node);
    const bool may_send = device != nullptr && device->reachable && device->facts_current &&
                          !device->incarnation.empty() && device->keeps_configs &&
                          context_.mirror.barrier().is_synced();
    if (!may_send || offer.waiting.empty() || !offer.offered.empty()) continue;
    if (offer.begun != 0 && now - offer.begun < kOfferEveryMs) continue;  // with a later tick
    offer.begun = now;
    while (!offer.waiting.empty() && offer.offered.size() < kConfigRefsMax / 2) {
      offer.offered.insert(offer.waiting.extract(offer.waiting.begin()));
    }
    offer.number = context_.store.next_position();
    offer.resends = 0;
    send_offer(node, offer);
  }
}

void ConfigDelivery::send_offer(const std::string& node, Offer& offer) {
  Request request = request_to(node, RequestType::configs);
  request.position = offer.number = std::max(offer.number, request.position);
  for (const Id& id : offer.offered) request.configs.push_back({id.first, id.second, hash_of(id)});
  sender_.send(node, std::move(request), {}, Floor::leave);
  sender_.arm_resend(offer.resend, offer.resends, [this, node] {
    const auto again = offers_.find(node);
    if (again == offers_.end()) return;
    again->second.resend = 0;
    const DeviceNode* device = context_.nodes.find(node);
    // One that is away is offered all when it has listed its slots again.
    if (device != nullptr && device->reachable && !device->incarnation.empty() && device->keeps_configs) {
      return send_offer(node, again->second);
    }
    again->second.waiting.merge(again->second.offered);
    again->second.offered.clear();
  });
}

}  // namespace berth
