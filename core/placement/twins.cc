#include "core/placement/twins.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/handshake/fields.h"
#include "core/json/utf8.h"

namespace berth {

namespace {

constexpr std::size_t kWordBytes = 64;  // of what a device says of itself
constexpr Millis kCleanMs = 10'000;

// What people find the device by.
std::string description_of(const Json& state, const std::string& machine) {
  std::string about = machine.empty() ? "a device that does not name its machine" : "machine " + machine;
  std::string more;
  for (const std::string_view key : {"serial", "address"}) {
    const std::string word = state.string_at(key);
    if (!word.empty()) more += (more.empty() ? "" : ", ") + std::string(key) + " " + shorten(word, kWordBytes);
  }
  return more.empty() ? about : about + " (" + more + ")";
}

std::string mark_prefix(const std::string& node, const std::string& incarnation) {
  return node + "/" + incarnation + "/";
}

// The mark of this incarnation; null: it has none.
const std::string* find_mark(const Identity& identity, const std::string& prefix) {
  const auto found = identity.twins.lower_bound(prefix);
  return found != identity.twins.end() && found->starts_with(prefix) ? &*found : nullptr;
}

}  // namespace

Twins::Twins(const PlacementContext& context, const PlacementState& state, Listings& listings,
             std::function<void(const std::string&, const std::string&)> quarantine)
    : context_(context),
      state_(state),
      listings_(listings),
      quarantine_(std::move(quarantine)),
      since_(context.clock.now()) {}

Twins::Voice& Twins::voice_of(Heard& heard, const std::string& incarnation) const {
  std::vector<Voice>& voices = heard.voices;
  const auto known =
      std::find_if(voices.begin(), voices.end(), [&](const Voice& voice) { return voice.incarnation == incarnation; });
  if (known != voices.end()) return *known;
  if (voices.size() >= kMaxVoices) {
    const auto silent = std::min_element(voices.begin(), voices.end(),
                                         [](const Voice& a, const Voice& b) { return a.heard_at < b.heard_at; });
    heard.dropped = std::max(heard.dropped, silent->heard_at);
    voices.erase(silent);
  }
  Voice& voice = voices.emplace_back();
  voice.incarnation = incarnation;
  voice.about = description_of(Json::object(), {});
  voice.heard_at = since_;
  return voice;
}

const Twins::Voice* Twins::find(const std::string& node, const std::string& incarnation) const {
  const auto heard = heard_.find(node);
  if (heard == heard_.end()) return nullptr;
  for (const Voice& voice : heard->second.voices) {
    if (voice.incarnation == incarnation) return &voice;
  }
  return nullptr;
}

void Twins::note_alive(Heard& heard, Voice& voice) {
  voice.heard_at = context_.clock.now();
  if (heard.last == voice.incarnation) return;
  heard.last = voice.incarnation;
  heard.changed = voice.heard_at;
}

void Twins::end_routine(const std::string& node) {
  DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr) return;
  const Millis heard_at = std::exchange(device->routine, {}).heard_at;
  const auto heard = heard_at == 0 ? heard_.end() : heard_.find(node);
  if (heard != heard_.end()) voice_of(heard->second, heard->second.last).heard_at = heard_at;
}

void Twins::note_report(const std::string& node, std::string_view what, const Json& payload, bool is_live) {
  const Json* said = payload.find("incarnation");
  if (said == nullptr || !said->is_string() || !is_valid_id(said->as_string())) return;
  const std::string& incarnation = said->as_string();
  const bool is_state = what == "state";
  const Json* online = payload.find("online");
  // A will comes whenever the broker notices.
  const bool is_alive = is_live && (what == "heartbeat" || (online != nullptr && *online == Json(true)));
  if ((!is_state && !is_alive) || context_.nodes.find(node) == nullptr) return;
  Heard& heard = heard_[node];
  Voice& voice = voice_of(heard, incarnation);
  if (is_state) {
    voice.has_state = true;
    const std::string machine = payload.string_at("machine");
    voice.machine = is_valid_id(machine) && machine.size() <= kWordBytes ? machine : "";
    voice.has_serial = !payload.string_at("serial").empty();
    const std::string boot = shorten(payload.string_at("bootId"), kWordBytes);
    if (!voice.boot.empty() && voice.boot != boot) voice.moved_at = context_.clock.now();
    voice.boot = boot;
    voice.about = description_of(payload, voice.machine);
  }
  if (is_alive) note_alive(heard, voice);
}

void Twins::note_answer(const Answer& answer) {
  if (!is_valid_id(answer.incarnation) || context_.nodes.find(answer.node) == nullptr) return;
  Heard& heard = heard_[answer.node];
  Voice& voice = voice_of(heard, answer.incarnation);
  note_alive(heard, voice);
  if (answer.type == AnswerType::hello) return note_hello(answer, voice);
  if (listings_.is_page_of_open(answer)) note_page(answer, heard, voice);
}

void Twins::note_page(const Answer& answer, Heard& heard, Voice& voice) {
  if (voice.run != answer.at.term) {
    // Another start of that agent: its store may have been restored, which is no return (N8).
    voice.run = answer.at.term;
    voice.first = voice.asked = voice.answered = 0;
  }
  const auto is_between = [&](const Voice& other) {
    return &other != &voice && other.first != 0 && other.asked > voice.first && other.answered < answer.list_id;
  };
  const auto other = std::find_if(heard.voices.begin(), heard.voices.end(), is_between);
  if (voice.first != 0 && other != heard.voices.end()) hold(answer.node, voice, *other);
  if (voice.first == 0) voice.first = listings_.last_id();
  voice.asked = answer.list_id;
  voice.answered = listings_.last_id();
}

// It answers a request for an incarnation that has answered a List begun after it had answered one itself: on one
// device that one would be its successor, and it could not have read the request.
void Twins::note_hello(const Answer& answer, const Voice& voice) {
  if (voice.first == 0 || voice.run != answer.at.term) return;
  const Voice* addressed = find(answer.node, answer.to_incarnation);
  if (addressed != nullptr && addressed != &voice && addressed->asked > voice.first) {
    hold(answer.node, voice, *addressed);
  }
}

void Twins::hold(const std::string& node, const Voice& one, const Voice& other) {
  std::set<std::string> placed;
  for (const auto& [uid, binding] : state_.bindings) {
    if (binding.row.node == node && binding.row.phase != Phase::none) placed.insert(binding.row.incarnation);
  }
  for (const auto& [key, release] : state_.releases) {
    if (release.entry.node == node) placed.insert(release.entry.incarnation);
  }
  for (const std::string& incarnation : placed) mark(node, incarnation, one, other);
  if (is_held(node)) return;
  const std::string quiet = std::to_string(context_.options.node_limits.twin_quiet_ms / 1000);
  watched_.insert(node);
  quarantine_(node, "two devices use its name: " + one.about + " and " + other.about +
                        "; stop one of them and enroll it under another name. Nothing is placed here until one has "
                        "been heard alone for " +
                        quiet +
                        " s. What the other one ran stays its own until it answers, or until `berthctl forget "
                        "node " +
                        node + "`");
}

void Twins::mark(const std::string& node, const std::string& incarnation, const Voice& one, const Voice& other) {
  const std::string prefix = mark_prefix(node, incarnation);
  if (find_mark(*context_.identity, prefix) != nullptr) return;
  const Voice* voice = find(node, incarnation);
  // On one machine they have two stores, and the end of one says nothing of the other. Whoever has not named a machine
  // since this gateway started may be on any.
  const bool are_named = voice != nullptr && !voice->machine.empty() && !one.machine.empty() && !other.machine.empty();
  const bool is_known = are_named && (one.machine != other.machine || voice->machine != one.machine);
  context_.identity.insert(&Identity::twins, prefix + (is_known ? voice->machine : ""));
}

bool Twins::is_over(const std::string& node, const std::string& before, const std::string& now) const {
  if (is_held(node)) return false;
  const Voice* speaker = find(node, now);
  const std::string machine = speaker == nullptr ? "" : speaker->machine;
  const std::string prefix = mark_prefix(node, before);
  if (const std::string* marked = find_mark(*context_.identity, prefix)) {
    return !machine.empty() && *marked == prefix + machine;
  }
  const Voice* earlier = find(node, before);
  if (speaker != nullptr && speaker->has_state && is_one_machine(*speaker, earlier)) return true;
  const auto heard = heard_.find(node);
  const Millis dropped = heard == heard_.end() ? since_ : heard->second.dropped;
  const Millis heard_at = std::max(since_, earlier == nullptr ? dropped : earlier->heard_at);
  return context_.clock.now() - heard_at >= context_.options.node_limits.twin_return_ms;
}

// A machine id is copied with a card, a serial number of the board is not, and no two machines boot under one id.
// Whoever said two boots lately may be two devices with copies of one store.
bool Twins::is_one_machine(const Voice& speaker, const Voice* earlier) const {
  if (speaker.machine.empty() && speaker.boot.empty()) return true;  // an agent that says nothing of this
  if (earlier == nullptr || earlier->machine != speaker.machine) return false;
  if (speaker.has_serial && earlier->has_serial) return true;
  const bool has_stayed =
      earlier->moved_at == 0 || context_.clock.now() - earlier->moved_at >= context_.options.node_limits.twin_return_ms;
  return !speaker.boot.empty() && speaker.boot == earlier->boot && has_stayed;
}

void Twins::list_later(const std::string& node) {
  heard_[node].again = context_.clock.now() + context_.options.node_limits.twin_return_ms;
  watched_.insert(node);
}

bool Twins::is_held(const std::string& node) const {
  const DeviceNode* device = context_.nodes.find(node);
  return device != nullptr && device->holds.contains(Hold::twins);
}

void Twins::reset_session() {
  since_ = context_.clock.now();
  for (auto& [node, heard] : heard_) heard.changed = since_;
}

void Twins::tick() {
  const Millis now = context_.clock.now();
  const Millis quiet = context_.options.node_limits.twin_quiet_ms;
  if (!context_.mirror.barrier().is_link_up()) return;
  for (const std::string& node : std::set(watched_)) {
    Heard& heard = heard_[node];
    const bool held = is_held(node);
    if (!held && heard.again == 0) {
      watched_.erase(node);
      continue;
    }
    if (held ? now - heard.changed < quiet : now < heard.again) continue;
    heard.again = 0;
    // What is there may be another device than the node was known by.
    listings_.start(node);
    if (!held) continue;
    quarantine_(node, {});
    // What led to this hold proves nothing more; should another one return, it does.
    Voice& left = voice_of(heard, heard.last);
    left.first = left.asked = left.answered = listings_.last_id();
  }
  if (!context_.identity->twins.empty() && now - cleaned_at_ >= kCleanMs) forget_marks_without_placements();
}

void Twins::forget_marks_without_placements() {
  cleaned_at_ = context_.clock.now();
  std::set<std::string> placed;
  for (const auto& [uid, binding] : state_.bindings) {
    placed.insert(mark_prefix(binding.row.node, binding.row.incarnation));
  }
  for (const auto& [key, release] : state_.releases) {
    placed.insert(mark_prefix(release.entry.node, release.entry.incarnation));
  }
  for (const std::string& mark : std::set(context_.identity->twins)) {
    if (placed.contains(mark.substr(0, mark.rfind('/') + 1))) continue;
    context_.identity.erase(&Identity::twins, mark);
    context_.publisher.mark(Kind::node, mark.substr(0, mark.find('/')));
  }
}

void Twins::forget(const std::string& node) {
  heard_.erase(node);
  watched_.erase(node);
  const std::string prefix = node + "/";
  for (const std::string& mark : std::set(context_.identity->twins)) {
    if (mark.starts_with(prefix)) context_.identity.erase(&Identity::twins, mark);
  }
}

}  // namespace berth
