// The model: one or two pods, two nodes, up to three epochs, and a network that delivers each message at any time, any
// number of times or never. It uses the programs' own tables and functions: find_move, apply, read_answer, ends_entry,
// decide.
//
// What makes up one step, and why no state is missed by that:
// - A node's decision and its commit are one step: nothing leaves the node before the commit. An agent that crashes
//   after the commit loses only effects and answers, and both are repeated: effects at the next start, answers when the
//   request is delivered again. Answers that take time (PreBound, Bound, Released after a stop) are therefore modelled
//   as given at a later delivery.
// - The gateway sends only what is committed, and a crash returns it to the committed state, as if an uncommitted
//   decision had never been made. So decision and commit are one step, unless `split` asks for the states between them.
// - A request that may be sent is in the network: a sent and lost request is the same as one that was never sent.
// - Time is not modelled: every deadline may pass at any moment.
// - Epoch numbers continue after the loss of the gateway's store. Real epochs compare in the same way, since the term
//   increases.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>

#include "core/agent/rules.h"
#include "core/handshake/row.h"

namespace berth::model {

inline constexpr int kNodes = 2;
inline constexpr int kPods = 2;
inline constexpr int kMaxEpochs = 3;
inline constexpr int kFloors = kMaxEpochs + 1;  // a floor is an epoch, or the next one

// Rules that can be broken on purpose, to verify that the checks detect it.
enum class Mutant {
  none,
  bind_before_commit,
  pre_bind_before_commit,
  place_elsewhere_from_bind,
  hello_without_echo,
  hi_forgotten_at_reboot,
  released_before_stopped,
  survivors_kept,
  drop_release_entry_by_time,
  leave_without_entry,
  floor_not_durable,
  rejected_without_hi,
  any_incarnation,
  adopt_mode_not_durable,
  superseded_for_stale,
  any_gateway,
  first_listing_is_enough,
  old_listing_believed,
  admission_blind,
  older_store_unnoticed,
  older_store_places_at_once,
  older_store_keeps_promises,
  older_node_store_unnoticed,
  older_node_store_unswept,
};

struct Options {
  int pods = 1;
  int epochs = 3;
  int wipes = 0;      // losses of a device's store, in total
  int losses = 0;     // losses of the gateway's store: 0 or 1
  int rollbacks = 0;  // the gateway's store is replaced by an earlier copy of itself (P11): 0 or 1; not with losses
  int node_rollbacks = 0;  // a device's store is replaced by an earlier copy of itself (N8): 0 or 1; with `list`
  int faults = -1;  // wipes, losses, rollbacks, reboots, expired promises, failed preparations, in total; -1: unlimited
  bool list = false;     // listings outside adopt mode too; their floor is above every earlier request of the pod
  bool split = false;    // the gateway's decision and its commit are two steps, with crashes between them
  bool minimal = false;  // only placement, binding and lost stores: to reach a mutant that needs a long trace
  Mutant mutant = Mutant::none;
};

// The gateway identity that sends: (term 1, first store); after the loss of that store (1, second), then (2, second).
// A store that is an earlier copy of itself is (2, second) at once: its mark names the term to exceed.
enum Sender : std::uint8_t { kFirst, kSecond, kSecondRaised, kSenders };
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
};

// What the gateway knows about the pods.
struct Ledger {
  std::array<Held, kPods> row{};
  std::uint8_t gone = 0;  // bit pod: deleted or finished, not placed again
  std::uint8_t next = 1;
  std::uint8_t entries = 0;  // bit e: a release-list entry
  std::uint8_t sender = kFirst;
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

enum RequestKind { kPreBind, kBind, kRelease, kRequestKinds, kList = kRequestKinds };
inline constexpr int kEntry = 7;
enum AnswerBit { kPreBound, kBound, kReleased, kRejected, kStale, kFinished, kHello1, kHello2, kAnswerBits };

// Bytes without padding, compared and hashed as memory. Masks of requests: bit sender * kFloors + floor - 1.
struct State {
  std::array<std::array<std::uint16_t, kMaxEpochs>, kRequestKinds> requests{};  // in the network, by kind and epoch
  std::array<std::uint16_t, kNodes> lists{};                                    // in the network, by node
  std::array<Device, kNodes> device{};
  Ledger live;
  Ledger flash;
  std::array<Listing, kNodes> listing{};                 // in the network, by node
  std::array<std::uint8_t, kMaxEpochs + 1> placement{};  // of epoch e, as decided: 0 none, else see make_placement()
  std::array<std::uint8_t, kMaxEpochs + 1> sent{};       // of epoch e, as sent in its requests
  std::array<std::uint8_t, kMaxEpochs + 1> answers{};    // in the network to the current store, by AnswerBit
  std::uint8_t finals = 0;                               // bit e: Rejected, Stale or Released(e) was sent
  std::uint8_t superseded = 0;                           // in the network: Superseded for (1, second store)
  std::uint8_t wipes = 0;
  std::uint8_t losses = 0;
  std::uint8_t faults = 0;
  Ledger copy{.next = 0};  // of the gateway's store, to be put back; next 0: none
  std::uint8_t rollbacks = 0;
  std::uint8_t from_copy = 0;  // bit e: bound by the copy that was put back, which may be long out of date
  Device kept;                 // copy of a device's store, to be put back
  std::uint8_t kept_of = 0;    // 1 + node; 0: no copy
  std::uint8_t node_rollbacks = 0;
  std::uint8_t behind = 0;  // bit node: works on an earlier copy and does not know it yet
  std::uint8_t ghosts = 0;  // bit e: may run because of such a copy, until that is known and swept
  std::uint8_t unused = 0;
  bool operator==(const State& other) const { return std::memcmp(this, &other, sizeof(State)) == 0; }
};
static_assert(sizeof(State) == 116);

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

struct Step {
  enum Kind : std::uint8_t {
    begin,
    leave,
    remove,
    erase_pod,
    commit,
    crash,
    lose_store,
    copy_store,
    roll_back,
    raise_term,
    read_listing,
    forget_entry,  // gateway
    deliver,
    receive,
    unsolicited_hello,
    deliver_list,  // network
    prepared,
    prepare_failed,
    promise_end,
    launch,
    finish,
    stopped,
    reboot,
    copy_device,
    roll_back_device,
    wipe,
    sweep  // device
  };
  Kind kind = commit;
  std::uint8_t a = 0, b = 0, c = 0, d = 0;
};
std::string describe(const Step& step);

// The transitions. Each one is applied to a state in which it is possible, or changes nothing.
class Machine {
 public:
  explicit Machine(const Options& options) : options_(options) {}

  State first() const;
  // Calls `visit(step, next, violation)` for every step from `state`; `violation` is null, or the rule that was broken.
  using Visit = std::function<void(const Step&, const State&, const char*)>;
  void for_each_step(const State& state, const Visit& visit) const;
  // The invariant of S1-S8 that the state violates, or null.
  const char* check(const State& state) const;
  // One fault-free step towards a good state. False: no step is left.
  bool advance(State& state) const;
  bool is_good(const State& state) const;

 private:
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
    int sender = kFirst;
    bool told = false;  // List: of a later state of the device than its own, if there was one
  };

  // steps.cc
  void visit_gateway(const State& state, const Visit& visit) const;
  void visit_begin(const State& state, const Visit& visit) const;
  void visit_operator_actions(const State& state, int pod, const Visit& visit) const;
  void visit_faults_of_gateway(const State& state, const Visit& visit) const;
  void visit_network(const State& state, const Visit& visit) const;
  void visit_requests(const State& state, int e, const Visit& visit) const;
  void visit_lists(const State& state, const Visit& visit) const;
  void visit_device(const State& state, int node, const Visit& visit) const;
  void visit_node_rollback(const State& state, int node, const Visit& visit) const;
  void visit_slot(const State& state, int node, int pod, const Visit& visit) const;
  void visit_slot_faults(const State& state, int node, int pod, const Visit& visit) const;
  bool may_fail(const State& state) const { return options_.faults < 0 || state.faults < options_.faults; }
  void count_fault(State& state) const { state.faults = byte(state.faults + (options_.faults < 0 ? 0 : 1)); }

  // moves.cc
  State commit(State state) const;
  State crash(State state) const;
  State lose_store(State state) const;
  State roll_back(State state) const;
  State raise_term(State state) const;
  State end_epoch(State state, int e) const;
  State give_up(State state, int pod, RowEvent event) const;
  State deliver(State state, const Asked& asked, bool refuse, const char** violation) const;
  State deliver_list(State state, int node, const Asked& asked, bool answered) const;
  State read_listing(State state, int node) const;
  State adopt(State state, int pod, Held slot) const;
  // The result equals `state` if the gateway ignores the answer.
  State receive(State state, int e, int answer, bool promise_passed) const;
  State unsolicited_hello(State state, int pod, int incarnation) const;
  State move_slot(State state, int node, int pod, SlotEvent event) const;
  State reboot(State state, int node) const;
  State wipe(State state, int node) const;
  State roll_back_device(State state, bool has_mark) const;
  State sweep(State state, int node) const;
  bool has_room(const Device& device, int pod) const;

  // network.cc: implied after every step
  const char* settle(State& state) const;
  const char* send(State& state, int kind, int e) const;
  const char* send_all(State& state) const;
  bool may_send(const State& state, int kind) const;
  void forget(State& state) const;
  void forget_requests(State& state, int e, bool dead) const;
  void forget_answers(State& state, int e, bool dead) const;
  void forget_lists(State& state, int node) const;

  // rules.cc
  const Reply& decide_once(const Device& device, int pod, const Asked& asked, bool same_incarnation, bool admit) const;
  // How the row of epoch `mine` (its release-list entry, if `phase` is kEntry) interprets an answer about epoch `e`:
  // 0: not at all, else 1 + RowEvent.
  std::uint8_t meaning(const State& state, int phase, int mine, int e, int answer, bool promise_passed) const;
  bool is_unsolicited_accepted(const State& state, int mine, Phase phase, int incarnation) const;
  Device clear(const Device& device, int pod) const;

  // checks.cc
  bool advance_device(State& state, int node) const;
  bool advance_listing(State& state) const;
  bool advance_exchange(State& state, int kind, int e) const;
  bool is_placed_on(const State& state, int node, int pod) const;
  bool is(Mutant mutant) const { return options_.mutant == mutant; }

  Options options_;
  mutable std::unordered_map<std::uint64_t, Reply> replies_;
  mutable std::array<std::uint8_t, 1u << 22> meanings_{};  // 0: not computed yet, else 1 + meaning
};

}  // namespace berth::model
