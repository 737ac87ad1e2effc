// Reporter: publishes what a device reports on its own: node state, presence, heartbeats and the status of its pods
// (core/agent/reports.h has the payloads). It owns the session and its numbers, the heartbeat, and the cleared statuses
// that the broker does not know of yet.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/agent/reports.h"
#include "core/agent/rollback_watch.h"
#include "core/agent/rules.h"
#include "core/clock.h"
#include "core/handshake/topics.h"
#include "core/timers.h"
#include "core/transport.h"
#include "core/turn.h"

namespace berth {

class Reporter {
 public:
  // All references must outlive this.
  Reporter(const NodeState& state, const RollbackWatch& watch, const AgentConfig& config, const Topics& topics,
           const Clock& clock, Timers& timers, Turn& turn);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Allocates the next session number, durably: once at the start, then at each loss of the link, because the will is
  // set before the next connection. `last`: the number before.
  void begin_session(std::uint64_t last);
  // False if nothing changes. Going down ends the session.
  bool set_link(bool up);
  bool is_link_up() const { return link_up_; }

  // Why the store before this one was lost, for the state.
  void set_lost_before(std::string why) { notes_.lost_before = std::move(why); }
  // Likewise, why the certificate was not renewed.
  void set_certificate_problem(std::string why) { notes_.certificate_problem = std::move(why); }
  // Likewise, RefusedPods::id().
  void set_refusals(std::string id) { notes_.refusals = std::move(id); }
  // Likewise. False: they are the same.
  bool set_images(std::vector<ContainerImage> images);
  // Likewise, what the node is short of. True: that is news.
  bool set_pressures(std::vector<NodePressure> pressures);
  // Not while the link is down: each session begins with it.
  void publish_state(const std::string& address);
  void publish_online();
  // Now, and then at each interval until the link goes down.
  void beat();
  // The device has begun to obey another gateway: heartbeats are to be answered, until that one has answered a later
  // one. The gateway before hears them too, and learns from what its own answer meets that it is not obeyed any more.
  void note_gateway();
  // The gateway obeyed has answered the heartbeat of this number.
  void note_answered(std::uint64_t sequence);
  // The status of the pod with this key and slot, to be sent. None while the link is down: at the next session all are
  // published.
  std::optional<Message> pod_status(const std::string& key, const std::string& uid, const Slot& slot,
                                    const std::string& status) const;
  // Clears the pod's retained status, or remembers that it must be cleared once the link is up.
  void clear_pod(const std::string& key);
  // The keys that clear_pod() has remembered, for the last time.
  std::set<std::string> take_pending_clears();

  // The MQTT will: presence offline.
  Message will() const;
  // Publishes presence offline; no heartbeat follows.
  void say_goodbye();

 private:
  AgentSession session() const { return {state_.incarnation, config_.boot_id, session_, watch_.at()}; }

  const NodeState& state_;
  const RollbackWatch& watch_;
  const AgentConfig& config_;
  const Topics& topics_;
  const Clock& clock_;
  Timers& timers_;
  Turn& turn_;
  StateNotes notes_;
  std::uint64_t session_ = 0;
  std::uint64_t state_sequence_ = 0;
  std::uint64_t heartbeat_sequence_ = 0;
  std::uint64_t asked_from_ = 0;  // the first heartbeat that is to be answered; 0: none is
  Timers::Id heartbeat_ = 0;
  std::set<std::string> pending_clears_;  // by pod key
  bool link_up_ = false;
};

}  // namespace berth
