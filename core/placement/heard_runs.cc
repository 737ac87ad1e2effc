#include "core/placement/heard_runs.h"

#include <algorithm>

namespace berth {

bool HeardRuns::note(const std::string& node, const std::string& incarnation, const Epoch& at) {
  if (at.is_zero()) return false;
  Heard& heard = heard_[node];
  if (heard.incarnation != incarnation) {
    heard = {incarnation, at, {}};
    return false;
  }
  if (at.term == heard.last.term) {
    heard.last = std::max(heard.last, at);
    return false;
  }
  // A message that is late looks like an older copy; an older copy's run may have any number.
  const Epoch before = heard.last;
  heard.last = std::max(heard.last, at);
  if (!heard.untold.is_zero()) return false;  // what was heard first proves most
  heard.untold = before;
  return true;
}

bool HeardRuns::has_noted(const std::string& node, const std::string& incarnation, const Epoch& at) const {
  if (at.is_zero()) return true;
  const auto found = heard_.find(node);
  return found != heard_.end() && found->second.incarnation == incarnation && found->second.last.term == at.term &&
         found->second.last >= at;
}

std::optional<Epoch> HeardRuns::to_tell(const std::string& node, const std::string& incarnation) const {
  const auto found = heard_.find(node);
  if (found == heard_.end() || found->second.incarnation != incarnation || found->second.untold.is_zero()) return {};
  return found->second.untold;
}

void HeardRuns::note_judged(const std::string& node, const std::string& incarnation) {
  const auto found = heard_.find(node);
  if (found != heard_.end() && found->second.incarnation == incarnation) found->second.untold = {};
}

}  // namespace berth
