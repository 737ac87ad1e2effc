// What a device says unasked, as payloads: its facts, presence, heartbeats and the status of its pods (topics:
// core/handshake/rules.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/agent/admission.h"
#include "core/agent/rules.h"
#include "core/api/objects.h"
#include "core/clock.h"

namespace berth {

struct AgentConfig {
  std::string fleet;
  std::string node;
  std::string gateway;  // whose requests are answered; its name is in each request too. Empty: any gateway's
  Labels labels;
  std::vector<Taint> taints;
  ResourceList capacity;  // allocatable: cpu, memory, pods, ...
  std::vector<LocalVolume> volumes;
  std::string machine_id;  // mixed into the incarnation
  std::string boot_id;     // another one than at the last start: the device rebooted (N5)
  Millis heartbeat_ms = 5000;
};

// Who speaks: a start of a store's agent, and the link it speaks on.
struct Speaker {
  std::string incarnation;
  std::string boot_id;
  std::uint64_t session = 0;  // grows with each link and each start, durably: an older one never wins
};

// nodes/<node>/state: {"incarnation","bootId","session","sequence","heartbeatMs","labels":{},"taints":[],
// "allocatable":{},"volumes":[{"name","path","capacity","storageClass"}]}; session, sequence and heartbeatMs as
// strings.
std::string node_state_payload(const Speaker& speaker, std::uint64_t sequence, const AgentConfig& config);
// nodes/<node>/presence: {"online":true|false,"incarnation","bootId","session"}
std::string presence_payload(const Speaker& speaker, bool online);
// nodes/<node>/heartbeat: {"incarnation","sequence"}
std::string heartbeat_payload(const Speaker& speaker, std::uint64_t sequence);
// nodes/<node>/pods/<ns>/<name>: {"uid","epoch","incarnation","slot", and the members of `status`}. `status`: what the
// runtime observed, JSON text of an object; anything else counts as {"phase":"Pending"}.
std::string pod_status_payload(const Speaker& speaker, const std::string& uid, const Slot& slot,
                               const std::string& status);

}  // namespace berth
