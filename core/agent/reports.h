// The payloads that a device publishes on its own: node state, presence, heartbeats and the status of its pods
// (core/handshake/rules.md, Topics).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/admission.h"
#include "core/agent/image_list.h"
#include "core/agent/output_archive.h"
#include "core/agent/pool_directories.h"
#include "core/agent/rules.h"
#include "core/agent/volatile_store.h"
#include "core/api/metadata.h"
#include "core/api/node.h"
#include "core/api/taint.h"
#include "core/certificates.h"
#include "core/clock.h"
#include "core/store_mark.h"
#include "core/time_floor.h"

namespace berth {

struct AgentConfig {
  std::string fleet;
  std::string node;
  std::string gateway;  // the gateway whose requests are answered, by the name in each request. Empty: any
  Labels labels;
  std::vector<Taint> taints;
  ResourceList capacity;  // allocatable: cpu, memory, pods, ...
  std::vector<LocalVolume> volumes;
  std::vector<VolumePool> volume_pools;
  PoolDirectories* pool_directories = nullptr;       // of the pools; outlives the agent
  std::optional<std::vector<std::string>> features;  // of the runtime (core/api/features.h); none: it does not say
  std::string container_runtime_version;             // of nodeInfo: "crun://1.8.1"; empty: runs no containers
  std::string machine_id;                            // mixed into the incarnation
  std::string hardware_serial;  // with the fleet, the node and the machine id it tells whose the store is (N7)
  std::string boot_id;          // differs from that of the last start if the device rebooted (N5)
  Millis heartbeat_ms = 5000;
  StoreMarks* marks = nullptr;  // outlives the agent; null: an older copy of the store is not noticed by itself (N8)
  TimeFloor* time_floor = nullptr;            // outlives the agent; null: the time that a gateway says is ignored (N9)
  VolatileStore* volatile_store = nullptr;    // outlives the agent; null: Secrets are in its memory only
  OutputArchive* output = nullptr;            // none: what pods wrote goes with their slots
  std::vector<std::string> streams;           // which of them it serves (core/streams); empty: it does not say
  ImageList* images = nullptr;                // outlives the agent; null: the device does not say
  CertificateKeeper* certificates = nullptr;  // outlives the agent; null: the device connects without one (N10)
};

// Identifies the sender of a report: the agent's store, the boot, and the connection.
struct AgentSession {
  std::string incarnation;
  std::string boot_id;
  std::uint64_t session = 0;  // increases, durably, with each connection and start, so that older reports never win
  Epoch at;                   // how far the store has come (RollbackWatch); zero: unsaid
};

// nodes/<node>/state: {"incarnation","bootId","session","sequence","heartbeatMs","protocol","labels":{},"taints":[],
// "allocatable":{},"volumes":[{"name","path","capacity","storageClass"}],"volumePools":[{"class","root","capacity","limited"}],"images":[{"names":[],"sizeBytes"}],"features":[],"nodeInfo":{"containerRuntimeVersion"},"streams":[],"certificateExpires"};
// session, sequence, heartbeatMs and certificateExpires as strings. "machine", "serial" and "address" (D5) where they
// are known. `address`: of this machine, as it reached the broker.
// A pressure that holds (core/v1, NodeCondition).
struct NodePressure {
  std::string type;  // MemoryPressure, DiskPressure or PIDPressure
  Millis since = 0;  // wall time
  bool operator==(const NodePressure&) const = default;
};

struct StateNotes {
  std::vector<NodePressure> pressures;
  std::string lost_before;          // why the store before this incarnation's was lost; empty: it was not, or unknown
  std::string refusals;             // RefusedPods::id()
  std::string certificate_problem;  // why the certificate was not renewed; empty: nothing failed
  std::vector<ContainerImage> images;
};
// `pressures` are the member "conditions", as in core/v1, left out when there are none; the other notes are the members
// "refusals", "storeLost" and "certificateProblem".
std::string node_state_payload(const AgentSession& session, std::uint64_t sequence, const AgentConfig& config,
                               const StateNotes& notes, const std::string& address = {});
// nodes/<node>/presence: {"online":true|false,"incarnation","bootId","session","at"}
std::string presence_payload(const AgentSession& session, bool online);
// nodes/<node>/heartbeat: {"incarnation","sequence","at"}, and "answer" if gateways are to answer it
std::string heartbeat_payload(const AgentSession& session, std::uint64_t sequence, bool is_to_be_answered);
// nodes/<node>/pods/<ns>/<name>: {"uid","epoch","incarnation","slot", and the members of `status`}. `status`: what the
// runtime observed, JSON text of an object; anything else is treated as {"phase":"Pending"}.
std::string pod_status_payload(const AgentSession& session, const std::string& uid, const Slot& slot,
                               const std::string& status);

}  // namespace berth
