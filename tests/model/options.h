// What is explored, and which rule is broken meanwhile.
#pragma once

namespace berth::model {

inline constexpr int kNodes = 2;
inline constexpr int kPods = 2;

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
  serve_without_claim_order,
  serve_beside_another,
  follow_without_adopt_mode,
  leader_before_durable,
  leader_not_read,
  same_store_id_when_following,
  promises_kept_when_following,
  bind_while_following,
  later_start_unheard,
  promise_of_the_past_forgotten,
  put_back_term_repeats,
  obeyed_before_forgotten,
  later_start_not_exceeded,
  later_start_places_at_once,
  later_start_keeps_promises,
  foreign_slot_takes_row,
  found_slot_not_waited_for,
};

struct Options {
  int pods = 1;
  int epochs = 3;
  int wipes = 0;      // losses of a device's store, in total
  int losses = 0;     // losses of the gateway's store: 0 or 1
  int rollbacks = 0;  // the gateway's store is replaced by an earlier copy of itself (P11): 0 or 1; not with losses
  int unmarked = 0;   // with rollbacks, and neither split nor node_rollbacks: nothing shows that the store is a copy.
                      // 1: the term of the start on the copy is above that of any later start before it; 2: below
  int node_rollbacks = 0;  // a device's store is replaced by an earlier copy of itself (N8): 0 or 1; with `list`
  int follows = 0;         // two gateways at one broker (pair.h), of which one follows the other so often: 0 to 2
  int cuts = 0;            // with follows: lost connections of a gateway, in total
  int kills = 0;           // with follows: ends of a gateway's program, in total
  int faults = -1;  // wipes, losses, rollbacks, reboots, expired promises, failed preparations, in total; -1: unlimited
  bool list = false;     // listings outside adopt mode too; their floor is above every earlier request of the pod
  bool split = false;    // the gateway's decision and its commit are two steps, with crashes between them
  bool minimal = false;  // only placement, binding and lost stores: to reach a mutant that needs a long trace
  Mutant mutant = Mutant::none;
};

}  // namespace berth::model
