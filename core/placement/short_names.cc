#include "core/placement/short_names.h"

#include <utility>

#include "core/handshake/via.h"

namespace berth {

void ShortNames::note(const Answer& slots) {
  if (slots.answers_to.empty() || slots.answers_to.size() > Via::kMaxName) return;
  Name& known = names_[slots.node];
  if (known.name == slots.answers_to && known.incarnation == slots.incarnation && known.term == slots.gateway_id.term &&
      known.store_id == slots.gateway_id.store_id) {
    return;
  }
  known = {slots.answers_to, Text::common(slots.gateway_id.store_id), slots.incarnation, slots.gateway_id.term, {}};
}

void ShortNames::shorten(const std::string& node, Request& request) {
  if (request.type != RequestType::pre_bind && request.type != RequestType::bind) return;
  const auto found = names_.find(node);
  if (found == names_.end() || request.epoch.term == 0) return;
  Name& known = found->second;
  if (known.incarnation != request.incarnation || known.term != request.gateway_id.term ||
      known.store_id != request.gateway_id.store_id) {
    return;
  }
  request.via = known.name;
  if (request.type == RequestType::bind) return;  // it brings no floor
  if (request.floor > known.floor) {
    known.floor = request.floor;
  } else {
    request.floor = {};
  }
}

bool ShortNames::complete(Answer& answer) const {
  if (answer.via.empty()) return true;
  const auto found = names_.find(answer.node);
  if (found == names_.end()) return false;
  const Name& known = found->second;
  return Via{known.name, {}, {known.term, known.store_id}, known.incarnation}.resolve(answer);
}

}  // namespace berth
