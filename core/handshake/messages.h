// The messages exchanged between the gateway and one device node, and their JSON form (core/handshake/rules.md; for
// other implementations see transports/README.md).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/handshake/configs.h"
#include "core/handshake/epoch.h"
#include "core/handshake/lists.h"
#include "core/handshake/protocol.h"
#include "core/shared.h"
#include "core/status.h"

namespace berth {

// Gateway -> node.
// heartbeat: the answer to a heartbeat; certificate: to a renew. configs: what ConfigMaps and Secrets of the device's
// pods are now; config: a part of one that it lacks (N13).
enum class RequestType { pre_bind, bind, release, list, heartbeat, certificate, delete_volume, configs, config };

// A volume that the device is to make: a directory below its pool of this class.
struct VolumeToMake {
  std::string storage_class;
  std::int64_t bytes = 0;  // as the claim asks for, more than 0
  bool operator==(const VolumeToMake&) const = default;
};

// A local volume bound to a claim of the pod, chosen by VolumeBinding.
struct BoundVolume {
  std::string claim;                      // "<namespace>/<name>" of the PersistentVolumeClaim
  std::string volume;                     // name of the PersistentVolume
  std::string path;                       // directory on the node
  std::optional<VolumeToMake> make = {};  // none: it is there
  bool operator==(const BoundVolume&) const = default;
};

// Those of one placement. Most have none: then the size of a pointer. Read-only, and shared by copies.
class BoundVolumes {
 public:
  BoundVolumes() = default;
  BoundVolumes(std::vector<BoundVolume> volumes) {
    if (!volumes.empty()) volumes_ = std::move(volumes);
  }
  BoundVolumes(std::initializer_list<BoundVolume> volumes) : BoundVolumes(std::vector<BoundVolume>(volumes)) {}

  const std::vector<BoundVolume>& get() const { return volumes_.get(); }
  operator const std::vector<BoundVolume>&() const { return get(); }
  bool empty() const { return get().empty(); }
  std::size_t size() const { return get().size(); }
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  bool operator==(const BoundVolumes&) const = default;

 private:
  Shared<std::vector<BoundVolume>> volumes_;
};

// What a PreBind without promiseMs means (N12).
inline constexpr Millis kUsualPromiseMs = 60'000;

struct Request {
  RequestType type = RequestType::list;
  std::string gateway;                    // gateway name: answers go to gateways/<gateway>/answers/<node>
  GatewayId gateway_id;                   // the sender's current term and store id
  std::string incarnation;                // of the addressee; empty where no pod is named: any
  Epoch floor;                            // P10: lowest epoch of any live row or release entry of the node
  std::string uid;                        // pod; empty in list, heartbeat and certificate
  Epoch epoch;                            // of uid; delete_volume: above that of every row so far
  std::string pod;                        // pre_bind: the manifest, JSON text
  bool is_repeated = false;               // outgoing: what went before may not have been understood: in full
  bool uid_in_pod = false;                // outgoing pre_bind: metadata.uid of the manifest is uid; sent only there
  std::vector<BoundVolume> volumes = {};  // pre_bind
  Millis promise_ms = 0;                  // pre_bind: how long the node holds the admission without Bind
  std::uint32_t page = 0;                 // list: page asked for, from 0
  std::uint64_t list_id = 0;              // list: identifies the listing; echoed
  bool report = false;                    // list: publish state and statuses again, since some were lost
  std::uint64_t sequence = 0;             // heartbeat: the sequence answered
  ProtocolVersion protocol = {};          // list: what the sender speaks
  std::string seen_incarnation = {};      // list: of this incarnation of the addressee ...
  Epoch seen = {};                        // ... such an Answer::at was heard; zero: nothing is to be compared (N8)
  std::string proof;                      // list: to be kept with gateway_id, and returned in superseded; empty: none
  Millis time = 0;                        // list: the sender's wall clock (N9); 0: it is not set
  bool keep_output = false;               // release: the pod is finished, and its object stays
  std::string certificate = {};           // certificate: PEM; empty: none was issued ...
  std::string refusal = {};               // ... for this reason ...
  Millis retry_ms = 0;                    // ... and the device may ask again after this
  std::vector<ConfigRef> configs = {};    // pre_bind: what the pod refers to; configs: what is offered
  ConfigPart config = {};                 // config
  std::uint64_t position = 0;             // configs and config: of the sender's store, at which this is so
  std::string volume = {};                // delete_volume: its name ...
  std::string path = {};                  // ... and directory; empty: the device knows it
  // pre_bind and bind: the device's name for the gateway, the gateway_id and the incarnation of this request (N12),
  // which it has instead of them; empty: it is written in full. Read, they are missing until Via::resolve().
  std::string via = {};

  Request() = default;
  Request(RequestType type_in) : type(type_in) {}
};

// Node -> gateway.
// lacks: what of a pre_bind or configs is not here (N13). kept: asked for by nothing; the output of this uid and epoch
// is kept here. renew: answers nothing, asks for a certificate (N10).
enum class AnswerType {
  pre_bound,
  bound,
  released,
  rejected,
  stale,
  superseded,
  hello,
  slots,
  kept,
  renew,
  volume_deleted,
  lacks
};

enum class SlotState { none, preparing, prepared, running, stopping, finished };

struct KeptVolume {  // a directory in a pool of the device that no slot has and that has been used
  std::string volume;
  std::string path;
  std::string claim = {};  // that it was made for; empty: the device has no record of it
  std::int64_t bytes = 0;  // that the claim asked for; 0: likewise
  bool operator==(const KeptVolume&) const = default;
};

struct SlotReport {  // one slot as listed
  std::string uid;
  Epoch epoch;
  SlotState state = SlotState::none;
  std::string pod;                        // manifest, JSON text
  std::vector<BoundVolume> volumes = {};  // from PreBind
};

// A gateway that a node has obeyed: its store, and the proof that came with it.
struct ObeyedGateway {
  static constexpr std::size_t kMax =
      4;  // of those before, as many are remembered: a start may end before it has heard
  std::string store_id;
  std::string proof;
  bool operator==(const ObeyedGateway&) const = default;
};

struct Answer {
  AnswerType type = AnswerType::hello;
  std::string node;          // the sender: from the authenticated topic, never from the payload
  std::string incarnation;   // the sender's own
  Epoch at;                  // how far its store has come: the run, and the position of the last commit (N8); 0: unsaid
  GatewayId gateway_id;      // echo of the request's; in superseded: that of the gateway the node obeys
  std::string uid;           // echo; empty in an incoming pre_bound or bound: the epoch identifies the pod
  Epoch epoch;               // echo
  bool epoch_alone = false;  // outgoing pre_bound and bound: leave out the uid
  std::string to_incarnation;  // hello: echo of the request's incarnation
  std::string reason;          // rejected
  std::string refusals;        // rejected: lasts as long as the node's state has this id (D6); empty: for a while
  std::string proof;           // superseded: what came with the obeyed gateway_id; empty: none
  Epoch high;                  // stale: hi >= epoch, durable
  std::uint32_t page = 0;      // slots
  std::uint32_t pages = 0;     // slots: how many pages this listing has (at least 1)
  std::uint64_t list_id = 0;
  std::vector<SlotReport> slots;
  std::vector<std::string> unused_volumes = {};   // slots, page 0: made for slots that ended before Bind
  std::vector<ObeyedGateway> obeyed_before = {};  // slots, page 0: the last at the end
  std::vector<KeptVolume> kept_volumes = {};      // slots
  std::string certificate_request = {};           // renew: PEM
  std::string volume = {};                        // volume_deleted: it is gone, with its data
  std::vector<ConfigWish> wishes = {};            // lacks: empty: all is here
  std::uint64_t position = 0;                     // lacks, to configs: echo
  std::string answers_to = {};  // slots, page 0: a name that requests may have instead of whom they are from and to
  std::string via = {};         // pre_bound and bound: as in Request, of the request that it answers

  Answer() = default;
  Answer(AnswerType type_in) : type(type_in) {}
};

std::string_view to_string(RequestType type);  // "PreBind", "Bind", "Release", "List", "Heartbeat", "Certificate"
std::string_view to_string(AnswerType type);   // "PreBound", "Bound", ..., "Renew"
std::string_view to_string(SlotState state);   // "none", "preparing", ...

// JSON text, at most 64 KiB. Epochs and 64-bit numbers are strings.
std::string encode(const Request& request);
std::string encode(const Answer& answer);

// Encodes the messages of one turn for one receiver in as few payloads as the limits allow. Several messages are
// encoded as a list: an object whose "items" are the messages, in order, and whose other members are defaults for items
// that do not have them. A single message is encoded as by encode().
std::vector<std::string> encode_all(const std::vector<Request>& requests);
std::vector<std::string> encode_all(const std::vector<Answer>& answers);

// Decodes the messages of one payload independently: an invalid one becomes a Code::error with the path of the field. A
// payload that is neither a message nor a list of 1 to kMaxItems is a single error. `node` is the authenticated sender.
std::vector<Result<Request>> decode_requests(std::string_view payload);
std::vector<Result<Answer>> decode_answers(std::string_view payload, std::string_view node);

}  // namespace berth
