#include "firmware-host/ctl/pod_locator.h"

#include <algorithm>
#include <utility>

#include "core/handshake/protocol.h"
#include "core/json/members.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"

namespace berth {

PodLocator::PodLocator(const ApiClient::Engine& engine, const ApiClient::Address& address, std::string pod,
                       std::string stream, Handler& handler)
    : engine_(engine),
      address_(address),
      topics_(address.fleet),
      pod_(std::move(pod)),
      stream_(std::move(stream)),
      handler_(handler) {}

void PodLocator::begin() {
  if (is_done_) return;
  node_.clear();
  // Retained messages come in this order; behind the last one is known what there is not.
  for (const std::string& topic : {topics_.status(Kind::pod, pod_), topics_.node_pod("+", pod_), topics_.leader()}) {
    engine_.transport.subscribe(topic, 1);
  }
}

// Behind the leader's retained message is known that the node has none.
void PodLocator::begin_at(const std::string& node) {
  if (is_done_) return;
  node_ = node;
  is_of_node_ = true;
  subscribe_node();
  engine_.transport.subscribe(topics_.leader(), 1);
}

void PodLocator::subscribe_node() {
  engine_.transport.subscribe(topics_.node_presence(node_), 1);
  engine_.transport.subscribe(topics_.node_state(node_), 1);
}

void PodLocator::on_message(const Message& message) {
  if (is_done_) return;
  if (node_.empty()) return locate(message);
  if (message.topic == topics_.node_presence(node_)) {
    const Result<Json> presence = Json::parse(message.payload);
    if (presence && member(*presence, "online") == Json(false)) {
      fail({Exit::refused, "node " + node_ + " is not connected to the broker"});
    }
  } else if (message.topic == topics_.node_state(node_)) {
    on_node(message);
  } else if (is_of_node_ && message.topic == topics_.leader()) {
    fail({Exit::refused, "node " + node_ + " not found: no device of this name has connected"});
  }
}

void PodLocator::locate(const Message& message) {
  if (message.topic == topics_.leader()) return fail(not_found());
  const Result<Json> status = Json::parse(message.payload);
  if (!status) return;
  const bool is_status = message.topic == topics_.status(Kind::pod, pod_);
  if (is_status) {
    node_ = status->string_at("nodeName");
    if (node_.empty()) {
      return fail({Exit::refused, "pod " + pod_ + " is on no node yet: " + printable(status->string_at("message"))});
    }
  } else if (const auto levels = topics_.split(message.topic); levels.size() == 5 && levels[0] == "nodes") {
    node_ = levels[1];
  }
  if (node_.empty()) return;
  uid_ = status->string_at("uid");
  subscribe_node();
}

void PodLocator::on_node(const Message& message) {
  const Result<Json> state = Json::parse(message.payload);
  if (!state) return;
  const Json::Array& streams = list_of(*state, "streams");
  if (std::find(streams.begin(), streams.end(), Json(stream_)) != streams.end()) {
    is_done_ = true;
    return handler_.on_located(node_, uid_);
  }
  const Result<ProtocolVersion> protocol = read_protocol(state->find("protocol"));
  fail({Exit::refused, "node " + node_ + " serves no " + stream_ + ": its agent speaks protocol " +
                           (protocol ? to_text(*protocol) : std::string("unknown")) + "; upgrade berth-agent there"});
}

void PodLocator::fail(Failure failure) {
  is_done_ = true;
  handler_.on_not_located(std::move(failure));
}

Failure PodLocator::not_found() const {
  return {Exit::refused, "pod " + pod_ + " not found: neither its gateway nor a device tells of it"};
}

Failure PodLocator::too_late() const {
  const std::string seconds = std::to_string((address_.timeout_ms + 999) / 1000) + " s";
  const std::string why = engine_.why_down();
  if (!engine_.transport.is_up()) {
    return {Exit::unreachable, "no connection to the broker at " + address_.broker + " within " + seconds +
                                   (why.empty() ? "" : ": " + why)};
  }
  if (node_.empty()) return not_found();
  // A broker does not tell a device, nor us, that it keeps back what the other sends.
  return {Exit::no_answer,
          "node " + node_ + " did not answer within " + seconds + (why.empty() ? "" : " (" + why + ")") +
              "; is it connected, and may both accounts use streams? Those of a mosquitto of your own that were "
              "enrolled by an earlier version may not: enroll them again with --replace"};
}

}  // namespace berth
