// Twins: two live devices under one name (D5): a cloned card, or a configuration that was used twice. They end each
// other's connection to the broker again and again, each with an incarnation of its own. One device never returns to an
// earlier incarnation; so whoever answers a List that was asked for after another incarnation had answered one is not
// alone, however late messages come. Nor is one whose Hello answers a request for such another incarnation. Such a node
// is quarantined until one of them has been silent for long.
//
// A Hello says that the incarnation it answers for is over. Of twins that is not so: is_over() is asked first.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json/json.h"
#include "core/placement/context.h"
#include "core/placement/listings.h"
#include "core/placement/state.h"

namespace berth {

class Twins {
 public:
  static constexpr std::size_t kMaxVoices = 4;  // of one node; the one that has been silent for longest is forgotten

  // All outlive it. `quarantine`: the node begins to be held for this reason, or is no longer; then it is empty.
  Twins(const PlacementContext& context, const PlacementState& state, Listings& listings,
        std::function<void(const std::string& node, const std::string& why)> quarantine);

  // Something else than a heartbeat of its routine has come: what is kept of those counts from now on, and the next one
  // is taken in full.
  void end_routine(const std::string& node);
  // A state, presence or heartbeat of the node, as it should be. `is_live`: not what the broker had retained.
  void note_report(const std::string& node, std::string_view what, const Json& payload, bool is_live);
  // Any answer of the node, before it is taken.
  void note_answer(const Answer& answer);
  // Placements of the incarnation `before` end with a Hello of `now`: it is the same machine, or the other one has been
  // silent for long enough, and was not one of two.
  bool is_over(const std::string& node, const std::string& before, const std::string& now) const;
  // It is not known yet whether it is over: the node is listed again when it is.
  void list_later(const std::string& node);
  // Two devices answer under this name.
  bool is_held(const std::string& node) const;
  // The link to the broker changed: nothing was heard meanwhile.
  void reset_session();
  // Called once a second: ends the holds of those that have been alone for long.
  void tick();
  void forget(const std::string& node);

 private:
  struct Voice {
    std::string incarnation;
    std::uint64_t run = 0;    // of its agent, as its answers say; 0: unsaid
    bool has_state = false;   // it was heard
    std::string machine;      // empty: unsaid
    bool has_serial = false;  // `machine` is that of a board, which is not copied with a card
    std::string boot;         // empty: unsaid
    Millis moved_at = 0;      // it had said another boot before; 0: never
    std::string about;        // for people
    Millis heard_at = 0;
    // Numbers of listings, which grow: the last one when it first answered; the one that it answered last, and the last
    // one at that time.
    std::uint64_t first = 0, asked = 0, answered = 0;
  };
  struct Heard {
    std::vector<Voice> voices;
    std::string last;    // the incarnation that was heard last
    Millis changed = 0;  // when that was another one before
    Millis again = 0;    // when it is to be listed; 0: need not
    Millis dropped = 0;  // when the voices that were forgotten were heard last
  };

  Voice& voice_of(Heard& heard, const std::string& incarnation) const;
  const Voice* find(const std::string& node, const std::string& incarnation) const;
  void note_alive(Heard& heard, Voice& voice);
  void note_page(const Answer& answer, Heard& heard, Voice& voice);
  void note_hello(const Answer& answer, const Voice& voice);
  bool is_one_machine(const Voice& speaker, const Voice* earlier) const;
  // Holds the node, and marks the incarnations that have placements there.
  void hold(const std::string& node, const Voice& one, const Voice& other);
  void mark(const std::string& node, const std::string& incarnation, const Voice& one, const Voice& other);
  void forget_marks_without_placements();

  const PlacementContext& context_;
  const PlacementState& state_;
  Listings& listings_;
  std::function<void(const std::string&, const std::string&)> quarantine_;
  std::unordered_map<std::string, Heard> heard_;  // by node
  std::set<std::string> watched_;                 // of these a time may come: they are held, or to be listed again
  Millis since_;                                  // the link is up, or the gateway runs
  Millis cleaned_at_ = 0;
};

}  // namespace berth
