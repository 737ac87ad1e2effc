#include "core/placement/request_sender.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

// What is lost of these is made good by the next one: rows and entries ask until they are answered, and so does a
// device. An acknowledgement by the broker would prove nothing, and cost as many packets again.
bool is_asked_again(RequestType type) {
  return type == RequestType::pre_bind || type == RequestType::bind || type == RequestType::release ||
         type == RequestType::heartbeat || type == RequestType::configs || type == RequestType::config;
}

}  // namespace

RequestSender::RequestSender(const PlacementContext& context, const LiveEpochs& epochs)
    : context_(context),
      epochs_(epochs),
      requests_(context.turn, [](const std::vector<Request>& requests) { return encode_all(requests); }) {}

void RequestSender::send(const std::string& node, Request request, std::function<bool()> still_needed, Floor floor) {
  request.gateway = context_.options.gateway;
  request.gateway_id = context_.nodes.id_towards(node, context_.identity->id);
  if (floor == Floor::raise) {
    request.floor = epochs_.floor_of(node, {request.gateway_id.term, context_.store.next_position()});
  }
  if (!request.is_repeated) names_.shorten(node, request);
  Message message;
  message.topic = context_.topics.node_requests(node);
  message.qos = is_asked_again(request.type) ? 0 : 1;
  // Ends in the broker's queue only, where none of QoS 0 waits; the receiver's rules never rely on it.
  if (message.qos > 0) message.expiry_s = static_cast<int>(std::max<Millis>(context_.options.promise_ms / 1000, 1));
  requests_.send(std::move(message), std::move(request), std::move(still_needed));
}

void RequestSender::arm_resend(Timers::Id& timer, int& resends, std::function<void()> run) {
  context_.timers.cancel(timer);
  const Millis doubled = context_.options.resend_ms << std::min(resends, 10);
  const Millis delay = std::min(doubled, context_.options.resend_ms_max);
  const Millis jitter = static_cast<Millis>(context_.random.below(static_cast<std::uint64_t>(delay / 4 + 1)));
  ++resends;
  timer = context_.timers.at(context_.clock.now() + delay + jitter, std::move(run));
}

}  // namespace berth
