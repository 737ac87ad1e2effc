// The messages of the exchange between the gateway and one device node, and their JSON form (rules.md;
// the page for other implementers is transports/README.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/handshake/epoch.h"
#include "core/handshake/lists.h"
#include "core/status.h"

namespace berth {

// Gateway -> node.
enum class RequestType { pre_bind, bind, release, list, heartbeat };  // heartbeat: the answer to a heartbeat

// A local volume that a pod gets, decided by VolumeBinding.
struct BoundVolume {
  std::string claim;   // "<namespace>/<name>" of the PersistentVolumeClaim
  std::string volume;  // name of the PersistentVolume
  std::string path;    // directory on the node
  bool operator==(const BoundVolume&) const = default;
};

struct Request {
  RequestType type = RequestType::list;
  std::string gateway;                    // gateway name: answers go to gateways/<gateway>/answers/<node>
  GatewayId gateway_id;                   // the speaker's present term and store id
  std::string incarnation;                // whom it is meant for; empty in list and heartbeat: whoever reads it
  Epoch floor;                            // P10: lowest epoch of any live row or release entry of the node
  std::string uid;                        // pod; empty in list and heartbeat
  Epoch epoch;                            // of uid
  std::string pod;                        // pre_bind: the manifest, JSON text
  bool uid_in_pod = false;                // pre_bind, on its way out: metadata.uid of the manifest is uid; said once
  std::vector<BoundVolume> volumes = {};  // pre_bind
  Millis promise_ms = 0;                  // pre_bind: how long the node holds the admission without Bind
  std::uint32_t page = 0;                 // list: page asked for, from 0
  std::uint64_t list_id = 0;              // list: tells one listing from another; echoed
  bool report = false;                    // list: publish state and statuses again, some were lost on the way
  std::uint64_t sequence = 0;             // heartbeat: the sequence answered

  Request() = default;
  Request(RequestType type_in) : type(type_in) {}
};

// Node -> gateway.
enum class AnswerType { pre_bound, bound, released, rejected, stale, superseded, hello, slots };

enum class SlotState { none, preparing, prepared, running, stopping, finished };

struct SlotReport {  // one slot as listed
  std::string uid;
  Epoch epoch;
  SlotState state = SlotState::none;
  std::string pod;                        // manifest, JSON text
  std::vector<BoundVolume> volumes = {};  // what PreBind gave it
};

struct Answer {
  AnswerType type = AnswerType::hello;
  std::string node;            // the sender: from the authenticated topic, never from the payload
  std::string incarnation;     // the sender's own
  GatewayId gateway_id;        // echo of the request's; in superseded: the one the node obeys
  std::string uid;             // echo; empty in a pre_bound or bound that came in: the pod of the epoch is meant
  Epoch epoch;                 // echo
  bool epoch_alone = false;    // pre_bound and bound, on their way out: without the uid
  std::string to_incarnation;  // hello: echo of the request's incarnation
  std::string reason;          // rejected
  Epoch high;                  // stale: hi >= epoch, durable
  std::uint32_t page = 0;      // slots
  std::uint32_t pages = 0;     // slots: how many pages this listing has (at least 1)
  std::uint64_t list_id = 0;
  std::vector<SlotReport> slots;

  Answer() = default;
  Answer(AnswerType type_in) : type(type_in) {}
};

std::string_view to_string(RequestType type);  // "PreBind", "Bind", "Release", "List", "Heartbeat"
std::string_view to_string(AnswerType type);   // "PreBound", "Bound", ..., "Slots"
std::string_view to_string(SlotState state);   // "none", "preparing", ...

// JSON text, at most 64 KiB. Epochs and 64-bit numbers travel as strings.
std::string encode(const Request& request);
std::string encode(const Answer& answer);

// What one sender has for one receiver in one turn, in as few payloads as the limits allow. Several make a list: an
// object whose "items" are the messages, in their order, and whose other members are those of every item that does not
// say otherwise. One alone is an object without "items", as above.
std::vector<std::string> encode_all(const std::vector<Request>& requests);
std::vector<std::string> encode_all(const std::vector<Answer>& answers);

// The messages of one payload, each judged alone: one that is wrong is a Code::error with the path of the field, in its
// place. A payload that is neither a message nor a list of 1 to kMaxItems is one error. `node` is the authenticated
// sender.
std::vector<Result<Request>> decode_requests(std::string_view payload);
std::vector<Result<Answer>> decode_answers(std::string_view payload, std::string_view node);

}  // namespace berth
