// ConfigDelivery: brings devices the ConfigMaps and Secrets that their pods refer to (core/handshake/rules.md, N13):
// those that a PreBind names and the device lacks, and later what has changed of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/api/config_refs.h"
#include "core/handshake/configs.h"
#include "core/placement/context.h"
#include "core/placement/request_sender.h"
#include "core/placement/state.h"

namespace berth {

class ConfigDelivery {
 public:
  static constexpr std::size_t kPartsAtOnce = 4;  // in answer to one Lacks: so much of a node is on its way
  static constexpr Millis kOfferEveryMs = 1'000;  // to one node: what changes more often is written less often there

  // All outlive it. `ask_again`: sends the PreBind of a row again.
  ConfigDelivery(const PlacementContext& context, PlacementState& state, RequestSender& sender,
                 std::function<void(Binding&)> ask_again)
      : context_(context), state_(state), sender_(sender), ask_again_(std::move(ask_again)) {}
  ~ConfigDelivery();
  ConfigDelivery(const ConfigDelivery&) = delete;
  ConfigDelivery& operator=(const ConfigDelivery&) = delete;

  // Names in a PreBind what the pod refers to, as it is now.
  void add_refs(const Pod& pod, Request& pre_bind);
  // A Lacks: what is asked for follows, and then what it answered once more.
  void take_lacks(const Answer& answer);
  // A node has listed its slots, and so may have started since: it is offered what its pods refer to. It is not told
  // what is absent, since this store may have lost that.
  void note_listed(const std::string& node);
  // At the end of a turn: devices whose pods refer to what has changed are offered it.
  void send_offers();

 private:
  using Id = std::pair<Kind, std::string>;  // the kind, and "<namespace>/<name>"
  struct Contents {
    std::shared_ptr<const void> object;  // that they were made of
    std::string hash;
    std::size_t parts = 0;
  };
  struct Encoded {
    Id id;
    std::string hash;
    std::string text;
  };
  struct Offer {
    std::set<Id> waiting;      // for the next one
    std::set<Id> offered;      // until the device has all of it; empty: nothing is on its way
    std::uint64_t number = 0;  // of what is offered: the position of the store
    Millis begun = 0;
    Timers::Id resend = 0;
    int resends = 0;
  };

  const std::vector<ConfigName>& names_of(const Pod& pod);
  std::string text_of(const Id& id) const;
  const std::string& encoded(const Id& id, const std::string& hash);
  // Empty: there is none, or it cannot be read.
  std::string hash_of(const Id& id);
  bool is_locked(const Id& id) const;
  void note_changes();
  void send_parts(const std::string& node, const std::vector<ConfigWish>& wishes);
  void send_offer(const std::string& node, Offer& offer);
  Request request_to(const std::string& node, RequestType type) const;

  const PlacementContext& context_;
  PlacementState& state_;
  RequestSender& sender_;
  std::function<void(Binding&)> ask_again_;
  std::map<Id, Contents> contents_;
  Encoded encoded_;                                       // what parts were sent of last, until its last one
  std::map<std::string, std::vector<ConfigName>> names_;  // by uid, of pods in rows that refer to something
  std::map<std::string, Offer> offers_;                   // by node
};

}  // namespace berth
