#include "core/handshake/via.h"

namespace berth {

namespace {

// The term that the name stands for is not repeated in epochs.
void complete(Epoch& epoch, const GatewayId& id) {
  if (epoch.term == 0 && epoch.counter > 0) epoch.term = id.term;
}

}  // namespace

bool Via::resolve(Request& request) const {
  if (name.empty() || request.via != name) return false;
  request.gateway = gateway;
  request.gateway_id = gateway_id;
  request.incarnation = incarnation;
  complete(request.epoch, gateway_id);
  complete(request.floor, gateway_id);
  return true;
}

bool Via::resolve(Answer& answer) const {
  if (name.empty() || answer.via != name) return false;
  answer.gateway_id = gateway_id;
  answer.incarnation = incarnation;
  complete(answer.epoch, gateway_id);
  return true;
}

}  // namespace berth
