#include "core/placement/adopt_mode.h"

#include <utility>

#include "core/placement/retired.h"

namespace berth {

// One that is offline may run pods all the same: it is waited for until it answers, or the operator forgets it.
void AdoptMode::wait_for_known_nodes() {
  Identity& identity = context_.identity.edit();
  for (const auto& [name, device] : context_.nodes.all()) {
    if (!is_retired(identity, context_.nodes, name)) identity.adopt_nodes.insert(name);
  }
}

void AdoptMode::wait_for_listed_nodes() {
  Identity& identity = context_.identity.edit();
  for (const auto* names : {&context_.options.known_nodes, &context_.options.enrolled_nodes}) {
    for (const std::string& name : *names) {
      if (!is_retired(identity, context_.nodes, name)) identity.adopt_nodes.insert(name);
    }
  }
}

bool AdoptMode::is_over() const {
  return context_.identity->adopt_nodes.empty() && !context_.identity->awaits_operator;
}

// Who was enrolled is known: from the configuration, from accounts, from the copy of a store, or from a broker that has
// been there all the time. The nodes that happen to be connected are not all.
bool AdoptMode::has_list() const {
  const Identity& identity = *context_.identity;
  return !context_.options.known_nodes.empty() || !context_.options.enrolled_nodes.empty() || identity.rolled_back ||
         context_.mirror.kept_other_store();
}

void AdoptMode::await_operator() {
  if (context_.identity->awaits_operator) return;
  context_.identity.edit().awaits_operator = true;
  context_.log.write(Level::warn,
                     "the store was lost, and no list of the nodes is left; when all are connected, end the waiting "
                     "with berthctl adopt done",
                     {});
}

void AdoptMode::start() {
  if (!context_.identity->adopting) return;
  wait_for_known_nodes();
  const Identity& identity = *context_.identity;
  // An operator who has forgotten nodes, and has none left, knows what nodes there were.
  const bool has_forgotten_all = identity.adopt_nodes.empty() && !identity.retired.empty();
  if (!identity.is_new && !has_list() && !has_forgotten_all) await_operator();
  if (is_over()) end();
}

void AdoptMode::enter() {
  Identity& identity = context_.identity.edit();
  // Another store, or a later state of this one, was there before: it knew the enrolled nodes.
  const bool was_new = std::exchange(identity.is_new, false);
  wait_for_listed_nodes();
  wait_for_known_nodes();
  if (was_new && !has_list()) await_operator();
  const bool adopted_before = std::exchange(identity.adopting, !is_over());
  identity.led = identity.adopting;  // only one that serves hears what begins it
  parts_.nodes.adopted().clear();
  if (adopted_before && !identity.adopting) end();
  const std::set<std::string> nodes = identity.adopt_nodes;
  for (const std::string& node : nodes) {
    if (context_.nodes.find(node) != nullptr) parts_.nodes.ask_everything(node);
  }
}

// The broker has been there all the time, and tells with its retained state which nodes the other one has added.
void AdoptMode::follow() {
  Identity& identity = context_.identity.edit();
  identity.is_new = false;
  identity.followed = identity.rolled_back = identity.adopting = identity.statuses_unread = true;
  wait_for_listed_nodes();
  parts_.nodes.adopted().clear();
}

void AdoptMode::note_answered(const std::string& node) {
  if (context_.identity.erase(&Identity::late, node)) parts_.adoption.settle_names();
  forget_deleted();
  if (!context_.identity->adopting) return;
  parts_.nodes.adopted().insert(node);
  context_.identity.edit().adopt_nodes.erase(node);
  if (is_over()) end();
}

void AdoptMode::note_foreign_slot(const std::string& node, const SlotReport& slot) {
  end_being_new(node, "it runs pod " + slot.uid + " with epoch " + to_text(slot.epoch) +
                          ", which this gateway did not give: an earlier gateway's store was lost");
}

void AdoptMode::note_foreign_store(const std::string& node, const GatewayId& id) {
  end_being_new(node, "it obeyed the gateway of store " + id.store_id + ", which was lost");
}

void AdoptMode::end_being_new(const std::string& node, const std::string& why) {
  if (!context_.identity->is_new) return;
  context_.log.write(Level::error, "the store is not new; pods are placed when all nodes have reported",
                     {{"node", node}, {"reason", why}});
  context_.events.record({Kind::node, node, "Warning", "StoreNotNew", why, node});
  enter();
}

std::set<std::string> AdoptMode::end_by_operator() {
  const std::set<std::string> unanswered = context_.identity->adopt_nodes;
  // What they run is found all the same when they connect.
  context_.identity.edit().late.insert(unanswered.begin(), unanswered.end());
  context_.identity.edit().adopt_nodes.clear();
  end();
  return unanswered;
}

// Nobody is left who could run what was deleted without being known.
void AdoptMode::forget_deleted() {
  const Identity& identity = *context_.identity;
  if (!identity.adopting && identity.late.empty() && !identity.deleted.empty())
    context_.identity.edit().deleted.clear();
}

// Pods are placed again, and deletes that waited for the listings are carried out.
void AdoptMode::end() {
  Identity& identity = context_.identity.edit();
  identity.adopting = identity.rolled_back = identity.followed = identity.led = identity.awaits_operator = false;
  forget_deleted();
  parts_.nodes.adopted().clear();
  context_.log.write(Level::info, "adopt mode has ended; placing pods again", {});
  parts_.pods.finish_removals(true);
  parts_.adoption.settle_names();
  parts_.volumes.join_waiting_halves();
  parts_.volumes.delete_unused();
  parts_.output.adopt_mode_ended();
  parts_.orphan_volumes.adopt_mode_ended();
}

}  // namespace berth
