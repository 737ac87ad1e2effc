// Statuses: what an agent publishes of its slots, retained, and clears again (core/handshake/rules.md N6).
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/agent/reporter.h"
#include "core/agent/slot_table.h"
#include "core/transport.h"
#include "core/turn.h"

namespace berth {

class Statuses {
 public:
  // All references must outlive this.
  Statuses(SlotTable& slots, Reporter& reporter, Turn& turn) : slots_(slots), reporter_(reporter), turn_(turn) {}

  // The pod's status as it is at the end of the turn, however often it changes in it; behind the answers, for which
  // somebody waits.
  void publish(const std::string& uid);
  // Those of all slots, at a place of their own among the messages of the turn.
  void publish_all();
  // That of a slot that has ended, by its pod's key; empty: it is unknown.
  void clear(const std::string& key);

 private:
  std::optional<Message> status_of(const std::string& uid);

  SlotTable& slots_;
  Reporter& reporter_;
  Turn& turn_;
  std::set<std::string> changed_;  // in this turn, by uid
};

}  // namespace berth
