// berth_model: explores all states of the handshake breadth first, and prints the shortest trace to a violation.
// Exit status: 0 no violation, 1 a violation, 2 bad arguments or too many states.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/model/explorer.h"
#include "tests/model/model.h"
#include "tests/model/pair.h"

namespace berth::model {

namespace {

struct MutantCase {
  std::string_view name;
  Options options;  // the smallest configuration that reveals it
};
constexpr Options put_back(int unmarked, Mutant mutant, int epochs = 2) {
  return {.epochs = epochs, .rollbacks = 1, .unmarked = unmarked, .minimal = true, .mutant = mutant};
}
constexpr MutantCase kMutants[] = {
    {"bind-before-commit", {.epochs = 2, .split = true, .mutant = Mutant::bind_before_commit}},
    {"prebind-before-commit", {.epochs = 2, .split = true, .mutant = Mutant::pre_bind_before_commit}},
    {"place-elsewhere-from-bind", {.epochs = 2, .mutant = Mutant::place_elsewhere_from_bind}},
    {"hello-without-echo", {.epochs = 2, .wipes = 1, .mutant = Mutant::hello_without_echo}},
    {"hi-forgotten-at-reboot", {.epochs = 2, .mutant = Mutant::hi_forgotten_at_reboot}},
    {"released-before-stopped", {.epochs = 2, .mutant = Mutant::released_before_stopped}},
    {"survivors-kept", {.epochs = 2, .wipes = 1, .mutant = Mutant::survivors_kept}},
    {"drop-release-entry-by-time", {.epochs = 2, .mutant = Mutant::drop_release_entry_by_time}},
    {"leave-without-entry", {.epochs = 2, .mutant = Mutant::leave_without_entry}},
    {"floor-not-durable", {.epochs = 2, .list = true, .mutant = Mutant::floor_not_durable}},
    {"rejected-without-hi", {.epochs = 2, .mutant = Mutant::rejected_without_hi}},
    {"any-incarnation", {.epochs = 2, .wipes = 1, .mutant = Mutant::any_incarnation}},
    {"adopt-mode-not-durable", {.epochs = 2, .losses = 1, .mutant = Mutant::adopt_mode_not_durable}},
    {"superseded-for-stale", {.epochs = 2, .losses = 1, .mutant = Mutant::superseded_for_stale}},
    {"any-gateway", {.epochs = 2, .losses = 1, .mutant = Mutant::any_gateway}},
    {"first-listing-is-enough", {.epochs = 2, .losses = 1, .mutant = Mutant::first_listing_is_enough}},
    {"old-listing-believed", {.epochs = 2, .losses = 1, .mutant = Mutant::old_listing_believed}},
    {"admission-blind", {.pods = 2, .epochs = 2, .mutant = Mutant::admission_blind}},
    {"older-store-unnoticed", {.epochs = 2, .rollbacks = 1, .mutant = Mutant::older_store_unnoticed}},
    {"older-store-keeps-promises", {.epochs = 2, .rollbacks = 1, .mutant = Mutant::older_store_keeps_promises}},
    {"later-start-unheard", put_back(1, Mutant::later_start_unheard)},
    {"promise-of-the-past-forgotten", put_back(1, Mutant::promise_of_the_past_forgotten)},
    {"put-back-term-repeats", put_back(1, Mutant::put_back_term_repeats)},
    {"obeyed-before-forgotten", put_back(1, Mutant::obeyed_before_forgotten)},
    {"later-start-not-exceeded", put_back(1, Mutant::later_start_not_exceeded)},
    {"later-start-places-at-once", put_back(1, Mutant::later_start_places_at_once)},
    {"later-start-keeps-promises", put_back(1, Mutant::later_start_keeps_promises)},
    {"foreign-slot-takes-row", {.epochs = 2, .rollbacks = 1, .unmarked = 1, .mutant = Mutant::foreign_slot_takes_row}},
    {"found-slot-not-waited-for", put_back(1, Mutant::found_slot_not_waited_for, 3)},
    {"older-node-store-unnoticed",
     {.epochs = 2, .node_rollbacks = 1, .list = true, .mutant = Mutant::older_node_store_unnoticed}},
    {"older-node-store-unswept",
     {.epochs = 2, .node_rollbacks = 1, .list = true, .mutant = Mutant::older_node_store_unswept}},
    {"serve-without-claim-order", {.epochs = 1, .follows = 1, .mutant = Mutant::serve_without_claim_order}},
    {"serve-beside-another", {.epochs = 1, .follows = 1, .mutant = Mutant::serve_beside_another}},
    {"bind-while-following", {.epochs = 1, .follows = 2, .minimal = true, .mutant = Mutant::bind_while_following}},
    {"follow-without-adopt-mode", {.epochs = 1, .follows = 1, .mutant = Mutant::follow_without_adopt_mode}},
    {"leader-before-durable", {.epochs = 1, .follows = 1, .kills = 1, .mutant = Mutant::leader_before_durable}},
    {"leader-not-read", {.epochs = 1, .follows = 1, .kills = 1, .mutant = Mutant::leader_not_read}},
    {"same-store-id-when-following", {.epochs = 1, .follows = 2, .mutant = Mutant::same_store_id_when_following}},
    {"promises-kept-when-following", {.epochs = 1, .follows = 2, .mutant = Mutant::promises_kept_when_following}},
    {"older-store-places-at-once", {.epochs = 2, .rollbacks = 1, .mutant = Mutant::older_store_places_at_once}},
};

int explore(const Options& options, std::size_t states_max) {
  if (options.follows > 0) return Explorer<PairMachine>(options, states_max).run();
  return Explorer<Machine>(options, states_max).run();
}

int run_all_mutants(std::size_t states_max) {
  int missed = 0;
  for (const auto& [name, options] : kMutants) {
    std::printf("-- %.*s\n", static_cast<int>(name.size()), name.data());
    if (explore(options, states_max) == 1) continue;
    std::printf("   NOT CAUGHT\n");
    ++missed;
  }
  std::printf("%d of %zu mutants not caught\n", missed, std::size(kMutants));
  return missed == 0 ? 0 : 1;
}

int usage() {
  std::printf(
      "usage: berth_model [--pods 1|2] [--epochs 1..3] [--wipes 0..2] [--losses 0|1] [--rollbacks 0|1 [--unmarked "
      "1|2]]\n"
      "                   [--node-rollbacks 0|1] [--faults N] [--list 0|1] [--split 0|1]\n"
      "       berth_model --follows 1|2 [--epochs 1|2] [--cuts N] [--kills N]      two gateways\n"
      "       berth_model --mutant NAME|all                                        each with [--max-states N]\n");
  for (const auto& [name, options] : kMutants) std::printf("  %.*s\n", static_cast<int>(name.size()), name.data());
  return 2;
}

bool read_option(std::string_view key, int number, Options& options) {
  const auto within = [&](int least, int most, int& value) {
    if (number < least || number > most) return false;
    value = number;
    return true;
  };
  if (key == "--pods") return within(1, kPods, options.pods);
  if (key == "--epochs") return within(1, kMaxEpochs, options.epochs);
  if (key == "--wipes") return within(0, 2, options.wipes);
  if (key == "--losses") return within(0, 1, options.losses);
  if (key == "--rollbacks") return within(0, 1, options.rollbacks);
  if (key == "--unmarked") return within(0, 2, options.unmarked);
  if (key == "--node-rollbacks") return within(0, 1, options.node_rollbacks);
  if (key == "--follows") return within(0, 2, options.follows);
  if (key == "--cuts") return within(0, 9, options.cuts);
  if (key == "--kills") return within(0, 9, options.kills);
  if (key == "--faults") return within(0, 100, options.faults);
  if (key == "--list") options.list = number != 0;
  if (key == "--minimal") options.minimal = number != 0;
  if (key == "--split") options.split = number != 0;
  return key == "--list" || key == "--minimal" || key == "--split";
}

int run(int argc, char** argv) {
  Options options;
  std::size_t states_max = 20'000'000;
  bool all = false;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string_view key = argv[at];
    const std::string_view value = argv[at + 1];
    if (key == "--max-states") {
      states_max = std::strtoull(argv[at + 1], nullptr, 10);
    } else if (key == "--mutant" && value == "all") {
      all = true;
    } else if (key == "--mutant") {
      const auto* found = std::find_if(std::begin(kMutants), std::end(kMutants),
                                       [&](const auto& known) { return known.name == value; });
      if (found == std::end(kMutants)) return usage();
      options = found->options;
    } else if (!read_option(key, static_cast<int>(std::strtol(argv[at + 1], nullptr, 10)), options)) {
      return usage();
    }
  }
  const bool has_room = options.follows == 0 || options.epochs * (1 + options.follows) <= kPairEpochs;
  const bool is_possible = options.unmarked == 0 || (options.rollbacks == 1 && options.losses == 0 &&
                                                     options.node_rollbacks == 0 && !options.split);
  if (argc % 2 == 0 || !has_room || !is_possible) return usage();
  return all ? run_all_mutants(states_max) : explore(options, states_max);
}

}  // namespace

}  // namespace berth::model

int main(int argc, char** argv) { return berth::model::run(argc, argv); }
