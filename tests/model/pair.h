// The second model: two gateways with stores of their own at one broker, one pod, two nodes (P13). Which of them serves
// is modelled from the rule, as core/gateway/leadership.h and other_gateways.h implement it; rows, slots and answers go
// through the programs' own tables and functions, as in the first model (model.h).
//
// What makes up one step, and why no state is missed by that:
// - The broker orders what gateways say, and hands it to each in that order, as late as it likes (`mail`). What a
//   gateway says is at the broker at once: said and still on its way is the same as not yet said, since nothing that it
//   says later, no request either, overtakes it on its connection.
// - Requests and answers are delivered at any time, any number of times or never. One answer is ordered: Superseded
//   comes behind what the other gateway said before it asked that device, and is therefore in `mail` too.
// - One that begins to serve says so and leaves `leader` in one step, as the program does in one turn. Not explored:
// that
//   the second of the two reaches the broker after the other gateway has waited for takeover_after_seconds and taken
//   over; a broker ends a connection that stalls for that long.
// - A gateway's decision and its commit are one step. Its end (`kill`) leaves its store; a lost connection (`cut`)
//   also what it remembers of the other. What the broker says of it then, it says at any later time (`will`).
// - What changes nothing that another one could notice is read at once. One that waits asks again and again, and what
//   is answered it has heard before: both is left out.
// - Time is not modelled: one that waits may find at any moment that the other has been silent for too long.
// - Of the gateways the first that places anything is number 0. The other's first identity never sends anything.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "tests/model/rules.h"

namespace berth::model {

inline constexpr int kGateways = 2;
inline constexpr int kIdentities = 5;  // explored are the first one and `follows` more, the others lead to a good state
inline constexpr int kPairEpochs = 4;  // the first `epochs` are those of identity 1, and so on: later terms are higher
inline constexpr int kMail = 5;

// What the broker brings to a gateway about who serves.
enum Mail : std::uint8_t {
  no_mail,
  other_claims,
  other_waits,
  other_serves,
  other_offline,
  own_claim,
  own_offline,
  overruled,  // Superseded: the device obeys another gateway
  leader_is,  // + identity
};

enum class Role : std::uint8_t { down, claiming, waiting, serving };

// What one gateway remembers of the other one, until it ends.
struct Claimant {
  Role role = Role::down;
  std::uint8_t other = no_mail;  // what was heard of it last
  std::uint8_t silent = 0;       // it was not heard for too long
  std::uint8_t leader = 0;       // the identity that the broker names; 0: none
  std::uint8_t must_follow = 0;
  std::uint8_t leader_said = 0;  // since it began to serve
  std::uint8_t took_over = 0;    // it began to serve because the other one was silent
  std::array<std::uint8_t, kMail> mail{};
};

// Bytes without padding, compared and hashed as memory. An identity is bit identity - 1 of a mask of requests.
struct PairState {
  std::array<std::array<std::uint8_t, kPairEpochs + 1>, kRequestKinds> requests{};  // by kind and epoch
  std::array<std::uint8_t, kNodes> lists{};
  std::array<Device, kNodes> device{};
  std::array<Ledger, kGateways> ledger{};
  std::array<std::uint8_t, kGateways> old{};  // bit e: bound before it followed, and not listed since
  std::array<std::array<Listing, kNodes>, kGateways> listing{};
  std::array<std::uint8_t, kPairEpochs + 1> sent{};  // the placement of each epoch, see make_placement()
  std::array<std::array<std::uint8_t, kPairEpochs + 1>, kGateways> answers{};
  std::uint8_t finals = 0;  // bit e: Rejected, Stale or Released(e) was sent
  std::array<Claimant, kGateways> claimant{};
  std::array<std::uint8_t, kGateways> retained{};  // Mail that the broker has for the other gateway
  std::array<std::uint8_t, kGateways> will{};      // the broker has not yet said that its connection was lost
  std::uint8_t leader = 0;                         // as the broker retains it
  std::uint8_t identities = 1;                     // used so far
  std::uint8_t of_second = 0;                      // bit identity: gateway 1 has it
  std::uint8_t cuts = 0;
  std::uint8_t kills = 0;
  std::uint8_t late_will = 0;  // the broker has called one offline that had come back
  bool operator==(const PairState& other) const { return std::memcmp(this, &other, sizeof(PairState)) == 0; }
  int owner(int identity) const { return has(of_second, identity) ? 1 : 0; }
};
static_assert(sizeof(PairState) == 131);

struct PairStep {
  enum Kind : std::uint8_t {
    connect,
    cut,
    kill,
    will,
    read,
    claim,
    take_over,
    follow,
    begin,
    leave,
    remove,
    read_answer,
    read_listing,
    deliver,
    deliver_list,
    prepared,
    launch,
    stopped
  };
  Kind kind = connect;
  std::uint8_t a = 0, b = 0, c = 0;
};
std::string describe(const PairStep& step);

// The transitions, as those of Machine.
class PairMachine {
 public:
  using State = PairState;
  using Step = PairStep;
  using Visit = std::function<void(const Step&, const State&, const char*)>;

  explicit PairMachine(const Options& options);

  State first() const;
  void for_each_step(const State& state, const Visit& visit) const;
  const char* check(const State& state) const;
  bool advance(State& state) const;
  bool is_good(const State& state) const;

 private:
  // What a step makes of a state; `limit` identities may be used. Not possible: the state counts for nothing.
  struct Next {
    State state;
    int limit;
    bool is_possible = true;
    const char* violation = nullptr;
  };

  // pair_claims.cc: who serves
  void connect(Next& next, int g) const;
  void lose_link(Next& next, int g) const;
  void kill(Next& next, int g) const;
  void tell_will(Next& next, int g) const;
  void read_mail(Next& next, int g) const;
  bool reads_at_once(const State& state, int g) const;
  void read_other(Next& next, int g, std::uint8_t mail) const;
  void say(Next& next, int g, std::uint8_t mail) const;
  void say_leader(Next& next, int g) const;
  void claim(Next& next, int g) const;
  void decide(Next& next, int g) const;
  void serve(Next& next, int g) const;
  void step_down(Next& next, int g) const;
  void follow(Next& next, int g) const;
  bool must_wait(const State& state, int g) const;
  bool was_itself(const State& state, int g) const;
  bool is_retired(const State& state, int g, int limit) const;

  // pair_moves.cc: what gateways and devices do
  void begin(Next& next, int g, int node) const;
  void move(Next& next, int g, RowEvent event) const;
  void read_answer(Next& next, int g, int e, int answer, bool promise_passed) const;
  void read_listing(Next& next, int g, int node) const;
  void deliver(Next& next, const Asked& asked) const;
  void deliver_list(Next& next, int node, int sender) const;
  void overrule(State& state, int sender) const;
  void settle(Next& next) const;
  void send(State& state, int g) const;
  void forget(State& state) const;
  void forget_requests(State& state, int e) const;
  void forget_answers(State& state, int g, int e) const;
  void retire(State& state, int g, int limit) const;

  // pair_steps.cc, pair_checks.cc
  void visit_claims(const State& state, int g, const Visit& visit) const;
  void visit_rows(const State& state, int g, const Visit& visit) const;
  void visit_network(const State& state, const Visit& visit) const;
  void visit_device(const State& state, int node, const Visit& visit) const;
  const char* check_devices(const State& state, int g) const;
  bool advance_claims(State& state) const;
  bool advance_device(State& state, int node) const;
  bool advance_exchange(State& state, int g) const;
  bool advance_row(State& state, int g, int kind, int e) const;
  template <class Change>
  bool try_change(State& state, const Change& change) const {
    Next next{state, kIdentities};
    change(next);
    settle(next);
    if (!next.is_possible || next.state == state) return false;
    state = next.state;
    return true;
  }
  template <class Change>
  void offer(const State& state, const Step& step, const Visit& visit, const Change& change) const {
    Next next{state, 1 + options_.follows};
    change(next);
    settle(next);
    if (next.is_possible && (next.violation != nullptr || !(next.state == state))) {
      visit(step, next.state, next.violation);
    }
  }
  int epochs_all() const { return options_.epochs * (1 + options_.follows); }
  bool is(Mutant mutant) const { return options_.mutant == mutant; }

  Options options_;
  mutable Rules rules_;
};

}  // namespace berth::model
