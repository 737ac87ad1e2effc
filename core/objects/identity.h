// Identity: what the gateway durably knows of itself: its term and store id, and the sets of names that outlive the
// objects they belong to. One record of Table::meta, "gateway".
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/handshake/messages.h"
#include "core/handshake/term_history.h"
#include "core/store.h"

namespace berth {

struct Identity {
  GatewayId id;
  TermHistory terms;
  // Until adopt mode ends: somebody knew later than this store what was placed. This store id began when the store
  // turned out to be an older copy; or another gateway has served the fleet.
  bool rolled_back = false;
  bool followed = false;  // the latter
  bool led = false;       // until adopt mode ends: it has been the gateway that serves, under this store id
  bool is_new = false;    // of a new installation, and nothing has spoken against that yet (P15)
  bool adopting = false;
  bool awaits_operator = false;       // in adopt mode: no list of nodes is left, so only the operator can end it
  std::set<std::string> adopt_nodes;  // in adopt mode: nodes that have not listed their slots yet (P8)
  std::set<std::string> orphans;      // "<node>/<uid>/<epoch>": found without an object, waiting for the operator
  std::set<std::string> kept;         // of these: to become pods, with the next listing of their nodes
  // Store ids that this machine's gateway had before, as far as is known: a node that has obeyed one tells nothing new.
  std::vector<std::string> former;
  std::set<std::string> late;     // nodes that had not answered when the operator ended adopt mode
  std::set<std::string> ending;   // release-list entries whose slot may still run: the pod is placed nowhere else
  std::set<std::string> retired;  // "<node>/<incarnation>": forgotten, and not cleared since (P9)
  std::set<std::string> twins;    // "<node>/<incarnation>/<machine>": of one of two live devices, with a placement (D5)
  std::set<std::string> deleted;  // uids and names of pods that the operator deleted before a node reported them
  std::set<std::string> withdrawn;  // uids of pods that are gone while the broker may retain their order
  bool statuses_unread = false;     // an earlier store's gateway may have left statuses of objects that are gone

  static constexpr std::size_t kFormerMax = 64;  // the oldest are dropped; two gateways that take turns make ever more
  void note_former(const std::string& store_id);
};

// Owns the identity and its record. Other rooms change the identity through edit(), which marks it to be saved.
class IdentityRecord {
 public:
  static constexpr std::string_view kRecord = "gateway";  // of Table::meta

  explicit IdentityRecord(Store& store) : store_(store) {}

  // Takes the record in. An error names the member that cannot be read.
  Status load(const RecordView& record);
  // Stages the record when edit() was called since the last save. Called once a turn, since a single listing may bring
  // thousands of orphans.
  void save();

  const Identity* operator->() const { return &identity_; }
  const Identity& operator*() const { return identity_; }
  Identity& edit() {
    changed_ = true;
    return identity_;
  }
  // To be changed without being saved for that alone.
  Identity& keep() { return identity_; }
  // Erases the name from one of the sets; true, and to be saved, when it was there.
  bool erase(std::set<std::string> Identity::* names, const std::string& name) {
    return note_change((identity_.*names).erase(name) > 0);
  }
  // Likewise inserts it; true when it is new.
  bool insert(std::set<std::string> Identity::* names, const std::string& name) {
    return note_change((identity_.*names).insert(name).second);
  }

 private:
  bool note_change(bool changed) {
    changed_ = changed_ || changed;
    return changed;
  }

  Store& store_;
  Identity identity_;
  bool changed_ = false;
};

}  // namespace berth
