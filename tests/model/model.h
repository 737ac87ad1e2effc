// The model: one or two pods, two nodes, up to three epochs, a network that delivers any time, any number of times or
// never. It moves by the same tables and functions as the programs: find_move, apply, read_answer, ends_entry, decide.
//
// What is one step here and why that is enough:
// - A node's decision and its commit are one step: before the commit nothing has left the node. An agent's crash after
//   it loses effects and answers only, and both come again: effects at the next start, answers at the next delivery.
//   So answers that need waiting (PreBound, Bound, Released after a stop) are given at a later delivery.
// - The gateway sends only what is committed, and a crash falls back to that: a decision that was not committed never
//   was. So deciding and committing are one step, unless `split` asks for every state between them.
// - A request that may be sent is in the network: whether it was sent or only lost is the same to everyone.
// - Time is chance: every deadline may pass at any moment.
// - Epochs are numbered on when the gateway's store is lost. The real ones compare alike, since the term rises.
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

// Rules broken on purpose, to show that the checks see it.
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
};

struct Options {
  int pods = 1;
  int epochs = 3;
  int wipes = 0;       // of devices' stores, in all
  int losses = 0;      // of the gateway's store: 0 or 1
  int faults = -1;     // wipes, losses, reboots, promises that end and preparations that fail, in all; -1: any number
  bool list = false;   // listings outside adopt mode as well; they carry a floor past every request of the pod
  bool split = false;  // the gateway's decision and its commit are two steps, with crashes between them
  bool calm = false;   // nothing but placing, binding and lost stores: for long roads to one mutant
  Mutant mutant = Mutant::none;
};

// Who speaks for the fleet: (term 1, first store), and after its loss (1, second store), (2, second store).
enum Speaker : std::uint8_t { kFirst, kSecond, kSecondRaised, kSpeakers };
// The states of a slot, and one more: stopping, but had finished before (S8: it is charged no more).
inline constexpr std::uint8_t kStoppingFinished = 6;

// A slot or a row: what epoch, in what state or phase. Epoch 0: none.
struct Held {
  std::uint8_t epoch = 0;
  std::uint8_t state = 0;
  bool operator==(const Held&) const = default;
  SlotState slot() const { return state == kStoppingFinished ? SlotState::stopping : static_cast<SlotState>(state); }
  Phase phase() const { return static_cast<Phase>(state); }
};

// One device: what is durable, and what is alive on it.
struct Device {
  std::array<Held, kPods> slot{};
  std::array<std::uint8_t, kPods> high{};
  std::uint8_t floor = 0;
  std::uint8_t obeys = 0;  // 1 + Speaker; 0: nobody yet
  std::uint8_t incarnation = 0;
  std::uint8_t booting = 0;  // first boot of a store, N0 not yet done: answers nothing
  std::uint8_t alive = 0;    // bit e: the workload of epoch e runs
};

// What the gateway knows of the pods.
struct Ledger {
  std::array<Held, kPods> row{};
  std::uint8_t gone = 0;  // bit pod: deleted or finished, placed no more
  std::uint8_t next = 1;
  std::uint8_t entries = 0;  // bit e: a release-list entry
  std::uint8_t speaker = kFirst;
  std::uint8_t waiting = 0;  // bit node: has still to list its slots; not 0: adopt mode
  bool operator==(const Ledger&) const = default;
  bool has_row(int e) const { return row[0].epoch == e || row[1].epoch == e; }
  bool knows(int e) const { return has_row(e) || ((entries >> e) & 1) != 0; }
};

// A complete listing on its way to the gateway.
struct Listing {
  std::uint8_t speaker = 0;  // 1 + the one who asked; 0: none is on its way
  std::array<Held, kPods> slot{};
};

enum RequestKind { kPreBind, kBind, kRelease, kRequestKinds, kList = kRequestKinds };
inline constexpr int kEntry = 7;
enum AnswerBit { kPreBound, kBound, kReleased, kRejected, kStale, kFinished, kHello1, kHello2, kAnswerBits };

// Bytes only, no padding: compared and hashed as memory. Masks of requests: bit speaker * kFloors + floor - 1.
struct State {
  std::array<std::array<std::uint16_t, kMaxEpochs>, kRequestKinds> requests{};  // in the network, by kind and epoch
  std::array<std::uint16_t, kNodes> lists{};                                    // in the network, by node
  std::array<Device, kNodes> device{};
  Ledger live;
  Ledger flash;
  std::array<Listing, kNodes> listing{};               // in the network, by node
  std::array<std::uint8_t, kMaxEpochs + 1> place{};    // of epoch e, as decided: 0 none, else see make_place()
  std::array<std::uint8_t, kMaxEpochs + 1> sent{};     // of epoch e, as sent in its requests
  std::array<std::uint8_t, kMaxEpochs + 1> answers{};  // in the network to the store of now, by AnswerBit
  std::uint8_t finals = 0;                             // bit e: Rejected, Stale or Released(e) was sent
  std::uint8_t superseded = 0;                         // in the network: (1, second store) is told of the first
  std::uint8_t wipes = 0;
  std::uint8_t losses = 0;
  std::uint8_t faults = 0;
  std::uint8_t unused = 0;
  bool operator==(const State& other) const { return std::memcmp(this, &other, sizeof(State)) == 0; }
};
static_assert(sizeof(State) == 90);

// Pod, node and incarnation of an epoch.
inline std::uint8_t make_place(int pod, int node, int incarnation) {
  return static_cast<std::uint8_t>(pod << 4 | node << 3 | (incarnation + 1));
}
inline int pod_of(std::uint8_t place) { return place >> 4; }
inline int node_of(std::uint8_t place) { return place >> 3 & 1; }
inline int incarnation_of(std::uint8_t place) { return (place & 7) - 1; }

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
    wipe,
    sweep  // device
  };
  Kind kind = commit;
  std::uint8_t a = 0, b = 0, c = 0, d = 0;
};
std::string describe(const Step& step);

// The moves. Each is given a state in which it may happen, or changes nothing.
class Machine {
 public:
  explicit Machine(const Options& options) : options_(options) {}

  State first() const;
  // Calls `visit(step, next, violation)` for every step out of `state`; `violation` is null or what the step broke.
  using Visit = std::function<void(const Step&, const State&, const char*)>;
  void for_each_step(const State& state, const Visit& visit) const;
  // What is wrong with the state by S1-S8, or null.
  const char* check(const State& state) const;
  // One step of a world without faults, towards a good state. False: there is nothing left to do.
  bool advance(State& state) const;
  bool is_good(const State& state) const;

 private:
  struct Reply {
    Device device;
    std::uint8_t answer = kAnswerBits;  // none
    bool superseded = false;
    bool repeats = true;  // S6: delivered again it changes nothing and says something final again
  };
  struct Asked {
    int kind = kPreBind;
    int e = 0;
    int floor = 1;
    int speaker = kFirst;
  };

  // steps.cc
  void visit_gateway(const State& state, const Visit& visit) const;
  void visit_begin(const State& state, const Visit& visit) const;
  void visit_deeds(const State& state, int pod, const Visit& visit) const;
  void visit_faults_of_gateway(const State& state, const Visit& visit) const;
  void visit_network(const State& state, const Visit& visit) const;
  void visit_requests(const State& state, int e, const Visit& visit) const;
  void visit_lists(const State& state, const Visit& visit) const;
  void visit_device(const State& state, int node, const Visit& visit) const;
  void visit_slot(const State& state, int node, int pod, const Visit& visit) const;
  void visit_slot_faults(const State& state, int node, int pod, const Visit& visit) const;
  bool may_fail(const State& state) const { return options_.faults < 0 || state.faults < options_.faults; }
  void count_fault(State& state) const { state.faults = byte(state.faults + (options_.faults < 0 ? 0 : 1)); }

  // moves.cc
  State commit(State state) const;
  State crash(State state) const;
  State lose_store(State state) const;
  State raise_term(State state) const;
  State end_epoch(State state, int e) const;
  State give_up(State state, int pod, RowEvent event) const;
  State deliver(State state, const Asked& asked, bool refuse, const char** violation) const;
  State deliver_list(State state, int node, const Asked& asked, bool answered) const;
  State read_listing(State state, int node) const;
  State adopt(State state, int pod, Held slot) const;
  // Nothing changed: the answer means nothing to the gateway.
  State receive(State state, int e, int answer, bool promise_passed) const;
  State unsolicited_hello(State state, int pod, int incarnation) const;
  State move_slot(State state, int node, int pod, SlotEvent event) const;
  State reboot(State state, int node) const;
  State sweep(State state, int node) const;
  bool has_room(const Device& device, int pod) const;

  // network.cc: what goes without saying after a step
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
  // What an answer about epoch `e` means for the row (or, with `phase` kEntry, for the release-list entry) of `mine`:
  // 0 nothing, else 1 + RowEvent.
  std::uint8_t meaning(const State& state, int phase, int mine, int e, int answer, bool promise_passed) const;
  bool is_unsolicited_believed(const State& state, int mine, Phase phase, int incarnation) const;
  Device clear(const Device& device, int pod) const;

  // checks.cc
  bool advance_device(State& state, int node) const;
  bool advance_listing(State& state) const;
  bool advance_exchange(State& state, int kind, int e) const;
  bool is_home(const State& state, int node, int pod) const;
  bool is(Mutant mutant) const { return options_.mutant == mutant; }

  Options options_;
  mutable std::unordered_map<std::uint64_t, Reply> replies_;
  mutable std::array<std::uint8_t, 1u << 22> meanings_{};  // 0: not asked yet, else 1 + meaning
};

}  // namespace berth::model
