// GatewayOptions: what a gateway is configured with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/certificates.h"
#include "core/clock.h"
#include "core/fastpath/fast_path.h"
#include "core/framework/profile.h"
#include "core/handshake/proof.h"
#include "core/objects/node_limits.h"
#include "core/objects/same_name.h"
#include "core/queue/queue.h"
#include "core/sealer.h"
#include "core/store_mark.h"

namespace berth {

class TimeZoneFiles;

// What a store without any record is taken for (P15).
enum class FirstBoot {
  is_new,  // of a new installation: nothing runs yet that this gateway does not know of, unless something says
           // otherwise
  lost,    // there was a store: what it knew has to be asked of the nodes
};

struct GatewayOptions {
  std::string fleet = "default";
  std::string gateway = "gateway";
  std::vector<std::string> known_nodes;     // the operator's list: after a lost store these must answer first (P8)
  std::vector<std::string> enrolled_nodes;  // those with an account: likewise, unless the store is new
  SameName same_name = SameName::older;
  FirstBoot first_boot = FirstBoot::is_new;
  std::vector<Profile> profiles;
  Queue::Options queue;
  Millis promise_ms = 60'000;  // how long a node holds an admission without Bind; also the deadline of prebind
  Millis resend_ms = 1'000;    // first retry; doubles up to resend_ms_max, with jitter
  Millis resend_ms_max = 10'000;
  std::size_t max_rows_in_flight = 256;  // rows in prebind and bind above which pop pauses, of nodes that can answer
  std::size_t max_rows_per_node = 12;    // above it a decided row waits until the node has answered for another one
  Millis pass_over_ms = 10'000;          // a node that takes no pod is passed over so long; doubles
  Millis pass_over_ms_max = 120'000;     // up to this
  Millis refusal_ms = 10'000;            // a pod that a device has rejected is not offered to it again so long; doubles
  Millis refusal_ms_max = 600'000;       // up to this
  NodeLimits node_limits;                // beyond them a device is quarantined
  Millis compare_ms = 300'000;           // between two listings of one node, besides those at each connect
  std::uint64_t seed = 0;                // ties, jitter
  std::size_t scheduling_cache_bytes = kSchedulingCacheBytes;  // what is kept of classes of pods, for later decisions
  std::uint64_t identity_seed = 0;    // store id and terms: from a true random source, another one at each start
  std::string hold;                   // not empty: bind nothing, and give this as the reason (store unreadable)
  std::string lost_commits;           // not empty: the store is known to be older than it was, and this is why (P11)
  StoreMarks* marks = nullptr;        // outlives the gateway; null: an older copy of the store is not noticed by itself
  std::optional<ProofKey> proof_key;  // of this machine, kept outside of the store; none: no term is proven to nodes
  Sealer* sealer = nullptr;           // outlives the gateway; null: Secrets are not accepted
  const TimeZoneFiles* time_zones = nullptr;  // of CronJobs; outlives the gateway; null: only UTC is known
  CertificateIssuer* issuer =
      nullptr;  // outlives the gateway, or calls nothing any more; null: no authority is here (N10)
  std::vector<std::string> set_aside;  // files of earlier, damaged stores; shown in the status
};

}  // namespace berth
