// OtherGateways: what one gateway knows of the others at its broker (P13): their runs, who has served last, and whom it
// waits for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/handshake/gateway_presence.h"

namespace berth {

class OtherGateways {
 public:
  struct Run {
    std::string gateway;
    GatewayPresence said;
    Millis heard = 0;
    bool is_live = false;  // it said that while it was heard, and not before
  };

  // `machine`: the own one. The clock outlives it.
  OtherGateways(std::string machine, Millis takeover_ms, const Clock& clock)
      : machine_(std::move(machine)), takeover_ms_(takeover_ms), clock_(clock) {}

  // Nobody could be heard until now.
  void restart_patience() { heard_since_ = leader_heard_ = clock_.now(); }
  void take(const std::string& run, Run other);
  void erase(const std::string& run) { runs_.erase(run); }
  // As the broker has it.
  void take_leader(Leader leader) { leader_ = std::move(leader); }
  const std::optional<Leader>& leader() const { return leader_; }
  bool is_leader_of_this_machine() const { return leader_ && leader_->machine == machine_; }
  // Another one has served since this one did.
  bool must_follow() const { return must_follow_; }
  void set_must_follow(bool must) { must_follow_ = must; }

  // The one that is there and claims or serves; null: none.
  const Run* find_rival() const;
  // Who served last may come back at once. `store_id`: the own one.
  bool waits_for_leader(const std::string& store_id) const;
  // Any other one is there.
  bool has_live() const;
  // An earlier run of this gateway, as long as it is not heard: then it is one of a copy of its machine.
  bool is_own_past(const Run& other) const { return other.said.machine == machine_ && !other.is_live; }
  // Forgets those that have ended or gone. Returns their gateways and runs.
  std::vector<std::pair<std::string, std::string>> take_gone();

  // Of the one that is waited for; empty: nothing is known of it.
  std::string rival_gateway() const;
  // The same with its address, for people.
  std::string rival_text() const;

 private:
  bool has_gone(const Run& other) const;

  const std::string machine_;
  const Millis takeover_ms_;
  const Clock& clock_;
  std::map<std::string, Run> runs_;
  std::optional<Leader> leader_;
  Millis heard_since_ = 0;
  Millis leader_heard_ = 0;  // when a run of the leader's machine was heard last, as one that serves
  bool must_follow_ = false;
  bool is_copied_ = false;  // another machine has the same key
};

}  // namespace berth
