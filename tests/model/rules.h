// The programs' own rules, over the model's bytes: what a node decides, what a gateway reads in an answer, what a row
// does. Results are cached, since the rules are pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/agent/rules.h"
#include "core/handshake/row.h"
#include "tests/model/options.h"

namespace berth::model {

// The states of a slot, and an additional one: stopping after it had finished (S8: no longer charged).
inline constexpr std::uint8_t kStoppingFinished = 6;

// A slot or a row: its epoch, and its state or phase. Epoch 0: none.
struct Held {
  std::uint8_t epoch = 0;
  std::uint8_t state = 0;
  bool operator==(const Held&) const = default;
  SlotState slot() const { return state == kStoppingFinished ? SlotState::stopping : static_cast<SlotState>(state); }
  Phase phase() const { return static_cast<Phase>(state); }
};

// One device: its durable state, and the workloads that run on it.
struct Device {
  std::array<Held, kPods> slot{};
  std::array<std::uint8_t, kPods> high{};
  std::uint8_t floor = 0;
  std::uint8_t obeys = 0;  // the gateway it accepts: 1 + Sender; 0: none yet
  std::uint8_t incarnation = 0;
  std::uint8_t booting = 0;  // first boot of a store, N0 not done yet: no answers
  std::uint8_t alive = 0;    // bit e: the workload of epoch e runs
  std::uint8_t proofs = 0;   // Proof: what it could show of the later start (put_back.cc)
};

// What the gateway knows about the pods.
struct Ledger {
  std::array<Held, kPods> row{};
  std::uint8_t gone = 0;  // bit pod: deleted or finished, not placed again
  std::uint8_t next = 1;
  std::uint8_t entries = 0;  // bit e: a release-list entry
  std::uint8_t sender = 0;   // the identity under which it sends
  std::uint8_t waiting = 0;  // bit node: has not listed its slots yet; not 0: adopt mode
  bool operator==(const Ledger&) const = default;
  bool has_row(int e) const { return row[0].epoch == e || row[1].epoch == e; }
  bool knows(int e) const { return has_row(e) || ((entries >> e) & 1) != 0; }
};

// A complete listing in transit to the gateway.
struct Listing {
  std::uint8_t sender = 0;  // 1 + the identity that asked for it; 0: no listing
  std::array<Held, kPods> slot{};
};

// Of the gateway that a node obeys, and of one that it obeyed before.
enum Proof : std::uint8_t { kOfObeyed = 1, kOfEarlier = 2 };

enum RequestKind { kPreBind, kBind, kRelease, kRequestKinds, kList = kRequestKinds };
inline constexpr int kEntry = 7;
enum AnswerBit { kPreBound, kBound, kReleased, kRejected, kStale, kFinished, kHello1, kHello2, kAnswerBits };
inline bool is_final(int answer) { return answer == kReleased || answer == kRejected || answer == kStale; }

// The placement of an epoch: pod, node and incarnation in one byte.
inline std::uint8_t make_placement(int pod, int node, int incarnation) {
  return static_cast<std::uint8_t>(pod << 4 | node << 3 | (incarnation + 1));
}
inline int pod_of(std::uint8_t placement) { return placement >> 4; }
inline int node_of(std::uint8_t placement) { return placement >> 3 & 1; }
inline int incarnation_of(std::uint8_t placement) { return (placement & 7) - 1; }

inline std::uint8_t byte(int value) { return static_cast<std::uint8_t>(value); }
inline std::uint8_t bit(int index) { return byte(1 << index); }
inline bool has(unsigned mask, int index) { return (mask >> index & 1u) != 0; }

// The request that a row in this phase resends, or -1.
int request_of(Phase phase);

// Applies an event to the row of a pod, with its effect on the release list. Returns the epoch that has ended, or 0.
int move_row(Ledger& ledger, int pod, RowEvent event, bool to_release_list = true);
// A listed slot without a row (core/handshake/rules.md, Comparison).
void adopt_slot(Ledger& ledger, int pod, Held slot);

struct Reply {
  Device device;
  std::uint8_t answer = kAnswerBits;  // none
  bool superseded = false;
  bool repeats = true;  // S6: a second delivery changes nothing and is answered with a final answer again
};

struct Asked {
  int kind = kPreBind;
  int e = 0;
  int floor = 1;
  int sender = 0;
  bool told = false;  // List: of a later state of the device than its own, if there was one
};

class Rules {
 public:
  // `senders`: the gateway identities, by Asked::sender. `proven`: the one whose Lists carry a proof; -1: none.
  Rules(Mutant mutant, std::vector<GatewayId> senders, int proven = -1)
      : mutant_(mutant), senders_(std::move(senders)), proven_(proven) {}

  const Reply& decide_once(const Device& device, int pod, const Asked& asked, bool same_incarnation, bool admit);
  // How the row of epoch `mine`, placed as `placement` (its release-list entry, if `phase` is kEntry), interprets an
  // answer about epoch `e`, sent as `sent`: 0: not at all, else 1 + RowEvent.
  std::uint8_t meaning(std::uint8_t placement, int phase, int mine, std::uint8_t sent, int e, int answer,
                       bool promise_passed);
  bool is_unsolicited_accepted(std::uint8_t placement, int mine, Phase phase, int incarnation) const;
  Device clear(const Device& device, int pod) const;
  Device move_slot(Device device, int pod, SlotEvent event) const;

 private:
  bool is(Mutant mutant) const { return mutant_ == mutant; }
  NodeState to_node_state(const Device& device) const;
  Device from_node_state(const NodeState& state, Device device) const;
  std::optional<RowEvent> read(const Row& row, bool is_entry, int answer_bit, const Answer& answer,
                               bool promise_passed) const;

  const Mutant mutant_;
  const std::vector<GatewayId> senders_;
  const int proven_;
  std::unordered_map<std::uint64_t, Reply> replies_;
  std::vector<std::uint8_t> meanings_ = std::vector<std::uint8_t>(1u << 23);  // 0: not computed yet, else 1 + meaning
};

}  // namespace berth::model
