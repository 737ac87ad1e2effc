// The model: one pod, two nodes, up to three epochs, a network that delivers any time, any number of times or never. It
// moves by the same tables and functions as the programs: find_move, apply, read_answer, ends_entry, decide.
//
// What is one step here and why that is enough:
// - The gateway decides in memory (`live`), commits (`flash`), and sends only what is committed; a crash falls back to
//   flash. Requests are resent at any time, so none is ever lost for good.
// - A node's decision and its commit are one step: before the commit nothing has left the node. An agent's crash after
//   it loses effects and answers only, and both come again: effects at the next start, answers at the next delivery.
//   So answers that need waiting (PreBound, Bound, Released after a stop) are given at a later delivery.
// - Time is chance: every deadline may pass at any moment.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "core/agent/rules.h"
#include "core/handshake/row.h"

namespace berth::model {

inline constexpr int kNodes = 2;
inline constexpr int kMaxEpochs = 3;

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
};

struct Options {
  int epochs = 3;
  int wipes = 1;      // in all
  bool list = false;  // List requests, which carry a floor past every request of the pod
  bool calm = false;  // nothing but crashless placing, binding and wipes: for long roads to one mutant
  Mutant mutant = Mutant::none;
};

// One device: what is durable, and what is alive on it.
struct Device {
  std::uint8_t slot_epoch = 0;  // 0: no slot
  std::uint8_t slot_state = 0;  // SlotState
  std::uint8_t high = 0;
  std::uint8_t floor = 0;
  std::uint8_t incarnation = 0;
  std::uint8_t booting = 0;  // first boot of a store, N0 not yet done: answers nothing
  std::uint8_t alive = 0;    // bit e: the workload of epoch e runs
};

// What the gateway knows of the pod.
struct Ledger {
  std::uint8_t phase = 0;
  std::uint8_t epoch = 0;  // of the row; 0: none
  std::uint8_t next = 1;
  std::uint8_t entries = 0;  // bit e: a release-list entry
  std::uint8_t gone = 0;     // deleted or finished: placed no more
  bool operator==(const Ledger&) const = default;
  bool knows(int e) const { return epoch == e || ((entries >> e) & 1) != 0; }
};

enum Request3 { kPreBind, kBind, kRelease };
inline constexpr int kEntry = 7;
enum AnswerBit { kPreBound, kBound, kReleased, kRejected, kStale, kFinished, kHello1, kHello2, kAnswerBits };

// Bytes only, no padding: compared and hashed as memory.
inline constexpr std::size_t kStateBytes = 49;
struct State {
  std::array<Device, kNodes> device{};
  Ledger live;
  Ledger flash;
  std::array<std::uint8_t, kMaxEpochs + 1> place{};  // of epoch e, as decided: 0 none, else 1 + node * 4 + incarnation
  std::array<std::uint8_t, kMaxEpochs + 1> sent{};   // of epoch e, as sent in its requests
  std::array<std::uint8_t, kMaxEpochs + 1> answers{};   // in the network, by AnswerBit
  std::array<std::uint8_t, 3 * kMaxEpochs> requests{};  // in the network: [type + 3 * (e - 1)], bit f: with floor f
  std::array<std::uint8_t, kNodes> lists{};             // in the network, by node: bit f: List with floor f
  std::uint8_t finals = 0;                              // bit e: Rejected, Stale or Released(e) was sent
  std::uint8_t wipes = 0;
  bool operator==(const State& other) const { return std::memcmp(this, &other, sizeof(State)) == 0; }
};
static_assert(sizeof(State) == kStateBytes);

struct Step {
  enum Kind : std::uint8_t {
    begin,
    leave,
    remove,
    erase_pod,
    commit,
    crash,
    send,
    deliver,
    receive,
    send_list,
    deliver_list,
    forget_entry,  // gateway, network
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
  explicit Machine(const Options& options);

  // Calls `visit(step, next, violation)` for every step out of `state`; `violation` is null or what the step broke.
  using Visit = std::function<void(const Step&, const State&, const char*)>;
  void for_each_step(const State& state, const Visit& visit) const;
  // What is wrong with the state by S1-S7, or null.
  const char* check(const State& state) const;
  // One step of a world without faults, towards a good state. False: there is nothing left to do.
  bool advance(State& state) const;
  static bool is_good(const State& state);

 private:
  struct Reply {
    Device device;
    std::uint8_t answer = kAnswerBits;  // none
    bool repeats = true;                // S6: delivered again it changes nothing and says something final again
  };

  void visit_gateway(const State& state, const Visit& visit) const;
  void visit_begin(const State& state, const Visit& visit) const;
  void visit_network(const State& state, const Visit& visit) const;
  void visit_lists(const State& state, const Visit& visit) const;
  void visit_device(const State& state, int node, const Visit& visit) const;

  State commit(State state) const;
  State crash(State state) const;
  State give_up(State state, RowEvent event) const;
  State send(State state, int type, int e, const char** violation) const;
  State deliver(State state, int type, int e, int floor, bool admit, const char** violation) const;
  // Nothing changed: the answer means nothing to the gateway.
  State receive(State state, int e, int answer, bool promise_passed) const;
  State deliver_list(State state, int node, int floor) const;
  State move_slot(State state, int node, SlotEvent event) const;
  State reboot(State state, int node) const;
  State sweep(State state, int node) const;

  Reply decide_once(const Device& device, int type, int e, int floor, bool same_incarnation, bool admit) const;
  // What an answer about epoch `e` means for the row (or, with `phase` kEntry, for the release-list entry) of `mine`:
  // 0 nothing, else 1 + RowEvent.
  std::uint8_t meaning(const State& state, int phase, int mine, int e, int answer, bool promise_passed) const;
  Device clear(const Device& device) const;
  bool may_send(const State& state, int type) const;
  bool advance_exchange(State& state, int type, int e) const;
  void reduce(State& state) const;
  bool is(Mutant mutant) const { return options_.mutant == mutant; }

  Options options_;
  mutable std::array<Reply, 1u << 19> replies_;
  mutable std::array<bool, 1u << 19> known_{};
  mutable std::array<std::uint8_t, 1u << 20> meanings_{};  // 0: not asked yet, else 1 + meaning
};

}  // namespace berth::model
