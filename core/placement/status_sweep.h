// StatusSweep: statuses that the broker retains below nodes/<n>/pods and that no slot explains (D4). A device may
// publish there under any name, and the broker keeps each: the gateway clears what is under the name of no pod that is
// placed on the node, and belongs to no entry of its release list. What an agent left when it died is cleared so as
// well, if it does not come back. In adopt mode nothing is: any slot may be there.
//
// Kept are names, bounded for each node. Beyond the bound, after adopt mode and once an hour the statuses are read
// again by a new subscription.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/json/json.h"
#include "core/placement/context.h"
#include "core/placement/state.h"

namespace berth {

class StatusSweep {
 public:
  static constexpr Millis kGraceMs = 5'000;       // in which a device clears its statuses by itself
  static constexpr Millis kCalmMs = 60'000;       // a quarantine ends when two times as long nothing was found
  static constexpr Millis kReadAgainMs = 60'000;  // at the earliest
  static constexpr Millis kReadAnywayMs = 3'600'000;
  static constexpr std::size_t kClearedAtOnce = 100;
  static constexpr std::size_t kNameBytes = 1 << 20;  // of names kept for one node

  // All outlive it. `quarantine`: the node begins or ends to be beyond its limits; the reason is empty when it ends.
  StatusSweep(const PlacementContext& context, const PlacementState& state,
              std::function<void(const std::string& node, const std::string& why)> quarantine);
  ~StatusSweep();
  StatusSweep(const StatusSweep&) = delete;
  StatusSweep& operator=(const StatusSweep&) = delete;

  // A status of `bytes` came from the node; 0: it was cleared. `key`: the levels behind "pods/", whatever they are.
  void note(const std::string& node, const std::string& key, std::size_t bytes);
  // The same, once it has been read: of which slot it is.
  void note_slot(const std::string& node, const std::string& key, const Json& report);
  // The link is new: the broker tells all of it again.
  void reset();
  // Once a second.
  void tick();
  // True when the statuses are to be read again.
  bool take_unread();

 private:
  struct Kept {
    std::size_t slot = 0;  // hash of its release_key(); 0: not known
    std::size_t bytes = 0;
    Millis since = 0;
  };
  using Names = std::map<std::string, Kept, std::less<>>;
  struct Found {
    Names names;
    std::size_t name_bytes = 0;
    bool has_more = false;   // than the names that are kept
    bool is_beyond = false;  // the node is quarantined
    bool was_read = false;   // again, since it last had too many
    Millis calm_since = 0;
  };

  bool is_placed(const std::string& node, const std::string& key) const;
  std::unordered_set<std::size_t> entries_of(const std::string& node) const;
  static Names::iterator erase(Found& found, Names::iterator at);
  void sweep_all();
  void sweep(const std::string& node, Found& found);
  void judge(const std::string& node, Found& found, std::size_t count, std::size_t bytes);

  const PlacementContext& context_;
  const PlacementState& state_;
  std::function<void(const std::string&, const std::string&)> quarantine_;
  std::map<std::string, Found> found_;  // by node
  std::size_t budget_ = 0;              // of messages in this sweep
  bool unread_ = false;
  Millis read_at_ = 0;
  Timers::Id timer_ = 0;
};

}  // namespace berth
