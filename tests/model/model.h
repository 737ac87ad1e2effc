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
#include <type_traits>

#include "core/handshake/term_history.h"
#include "tests/model/rules.h"

namespace berth::model {

inline constexpr std::uint8_t kAllNodes = (1 << kNodes) - 1;
inline constexpr int kMaxEpochs = 3;
inline constexpr int kFloors = kMaxEpochs + 1;  // a floor is an epoch, or the next one

// The gateway identity that sends: (term 1, first store); after the loss of that store (1, second), then (2, second).
// A store that is an earlier copy of itself is (2, second) at once: its mark names the term to exceed.
enum Sender : std::uint8_t { kFirst, kSecond, kSecondRaised, kSenders };
// With `unmarked` one store has them all: the first, then a later start and the start on the copy, of which either has
// the higher term, and the one that knows (see put_back.cc).
inline constexpr int kKnowing = 3, kUnmarkedSenders = 4;

// What became of a store that was put back together with its mark. All zero before, except later, reserved and top.
struct PutBack {
  std::uint8_t later = 0;  // a start after the copy was made: its first epoch
  std::uint8_t reserved =
      0;                  // the first of the epochs below it, which the start on the copy gives; 0: it gives later ones
  std::uint8_t top = 0;   // with `reserved`: the first epoch above all that were given
  std::uint8_t lost = 0;  // bit e: given, or perhaps bound, in the time that was lost
  std::uint8_t blind = 0;     // bit e: placed before a node has reported that time
  std::uint8_t given_up = 0;  // bit e: of these, in prebind when a node told
  std::uint8_t unheard = 0;   // bit node: has not listed since
  std::uint8_t ending = 0;    // bit e: a release-list entry whose workload may run: the pod is not placed meanwhile
  std::uint8_t tells = 0;     // bit node: its listing in the network tells of the later start
  std::uint8_t knows = 0;     // bit node: has obeyed the later start; bit kNodes: one of these has said so, or listed
};

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
  std::uint8_t superseded = 0;  // in the network: Superseded for (1, second store), or for the start on the copy
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
  PutBack past;
  bool operator==(const State& other) const { return std::memcmp(this, &other, sizeof(State)) == 0; }
};
static_assert(sizeof(State) == 128 && std::has_unique_object_representations_v<State>);

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
    restart,
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
  using State = model::State;
  using Step = model::Step;
  using Slots = std::array<Held, kPods>;

  explicit Machine(const Options& options);

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
  bool may_raise(const State& state) const;
  State raise_term(State state) const;
  State end_epoch(State state, int e) const;
  State give_up(State state, int pod, RowEvent event) const;
  State deliver(State state, const Asked& asked, bool refuse, const char** violation) const;
  State deliver_list(State state, int node, const Asked& asked, bool answered) const;
  State read_listing(State state, int node) const;
  // The result equals `state` if the gateway ignores the answer.
  State receive(State state, int e, int answer, bool promise_passed) const;
  State unsolicited_hello(State state, int pod, int incarnation) const;
  State move_slot(State state, int node, int pod, SlotEvent event) const;
  State reboot(State state, int node) const;
  State wipe(State state, int node) const;
  State roll_back_device(State state, bool has_mark) const;
  State sweep(State state, int node) const;
  bool has_room(const Device& device, int pod) const;

  // put_back.cc
  bool is_put_back(const State& state) const { return options_.unmarked != 0 && state.rollbacks != 0; }
  TermHistory terms_of(int sender, int position) const;
  bool is_news(const State& state) const;
  int later_start() const;
  int start_on_copy() const;
  bool is_elsewhere(const State& state, int node) const;
  bool is_blind(const State& state) const;
  bool may_find(const State& state, int e) const;
  bool is_held(const State& state, int pod) const;
  bool is_same_store(int a, int b) const { return options_.unmarked != 0 || (a == kFirst) == (b == kFirst); }
  void visit_restart(const State& state, const Visit& visit) const;
  State put_back(State state) const;
  State hear_of_later_start(State state) const;
  void hold_pod_of(State& state, const Held& slot) const;
  State find_promise(State state, int pod, Held slot) const;
  void note_listing(State& state, int node) const;
  void note_stray_stop(State& state, const Asked& asked, const Slots& before, const Slots& after) const;
  State find_slot(State state, int node, int pod, Held slot) const;

  // network.cc: implied after every step
  const char* settle(State& state) const;
  const char* send(State& state, int kind, int e) const;
  const char* send_all(State& state) const;
  void ask(State& state, int node) const;
  bool may_send(const State& state, int kind) const;
  void forget(State& state) const;
  void forget_requests(State& state, int e, bool dead) const;
  void forget_answers(State& state, int e, bool dead) const;
  void forget_lists(State& state, int node) const;

  // checks.cc
  bool advance_device(State& state, int node) const;
  bool advance_listing(State& state) const;
  bool advance_exchange(State& state, int kind, int e) const;
  const char* changes_row_of_another(const State& before, const State& after, int node) const;
  bool is_placed_on(const State& state, int node, int pod) const;
  bool is(Mutant mutant) const { return options_.mutant == mutant; }

  Options options_;
  mutable Rules rules_;
};

}  // namespace berth::model
