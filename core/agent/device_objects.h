// DeviceObjects: the ConfigMaps and Secrets that pods of this device refer to. They come from the gateway in parts
// (core/handshake/rules.md, N13), and stay while a slot refers to them: ConfigMaps in the agent's store, Secrets in
// memory and in a VolatileStore.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/pod_objects.h"
#include "core/agent/volatile_store.h"
#include "core/api/config_objects.h"
#include "core/api/config_refs.h"
#include "core/clock.h"
#include "core/handshake/configs.h"
#include "core/handshake/epoch.h"
#include "core/log.h"
#include "core/status.h"
#include "core/store.h"

namespace berth {

// What has to come before a request can go on.
struct Lacking {
  std::vector<ConfigWish> wishes;  // to be asked for
  bool waits = false;              // for others that are on their way: the request has to come again
};

class DeviceObjects final : public PodObjects {
 public:
  static constexpr std::size_t kHeldBytesMax = 16 << 20;  // of contents, as text
  static constexpr std::size_t kTransfersMax = 4;         // at one time
  static constexpr Millis kIdleMs = 15'000;               // then another one may take the place of a transfer
  static constexpr Millis kUnusedMs = 120'000;            // so long one may wait for the pod that it came for

  // Calls changed(uid) for each pod that refers to what has changed. `secrets` may be null. All outlive it.
  DeviceObjects(Store& store, VolatileStore* secrets, const Clock& clock, Log& log,
                std::function<void(const std::string& uid)> changed);

  // Whether a record of Table::object with this key is one of these.
  static bool is_record_key(std::string_view key) { return id_of(key).has_value(); }
  // At the start: the records of ConfigMaps in the store, by key; Secrets are read from where they are kept. One that
  // cannot be read is as one that is not there: the gateway gives it again.
  void restore(const std::map<std::string, std::string>& records);
  // Instead, where nothing of this store counts any more: Secrets that are kept go.
  void discard();
  // A slot refers to what its manifest names, until it is gone.
  void add_pod(const std::string& uid, const std::string& manifest);
  void remove_pod(const std::string& uid);
  // The pod that was just added was admitted so: what is not here stays known to exist. Of what its PreBind does not
  // list nobody knows that it is absent: the gateway cannot read it now.
  void note_admitted(const std::string& uid, const std::vector<ConfigRef>& listed);

  // What a PreBind lists and is not here, a few at a time. It may go on if that is nothing.
  Lacking lacking(const std::string& manifest, const std::vector<ConfigRef>& listed);
  // The gateway's present state of objects, as of `at`: those that are gone there go here, and what has changed, or is
  // not here, is asked for, if a slot refers to it. What there is no memory for, or cannot be read, is not.
  Lacking take_offer(const std::vector<ConfigRef>& offered, const Epoch& at);
  // A part of what was asked for; another one is dropped.
  void take_part(const ConfigPart& part, const Epoch& at);

  std::shared_ptr<const PodObject> find(const Tag& pod, PodObjectKind kind, const std::string& name) const override;
  bool is_absent(const Tag& pod, PodObjectKind kind, const std::string& name) const override;
  std::string why_missing(const Tag& pod, PodObjectKind kind, const std::string& name) const override;

 private:
  using Id = std::pair<Kind, std::string>;  // the kind, and "<namespace>/<name>"
  struct Held {
    std::string hash;
    Epoch at;  // of the offer or part that it is known by
    std::size_t bytes = 0;
    std::shared_ptr<const PodObject> object;
    Millis touched = 0;
  };
  enum class Why : std::uint8_t { coming, lost, not_given, no_memory, unreadable };
  // What exists, says the gateway, and is not here, or not in this state. In the store, if a slot refers to it and
  // there is no other way to know of it after a restart: a record without contents.
  struct Missing {
    std::string hash;
    Why why = Why::coming;
    std::size_t bytes = 0;  // for which there was no memory
    bool is_stored = false;
    Millis touched = 0;
  };
  struct Transfer {
    std::string hash;
    std::uint32_t taken = 0;
    std::string text;
    Millis touched = 0;
  };
  struct Pod {
    std::string name_space;
    std::set<Id> ids;
  };

  static std::string record_key(const Id& id);
  static std::optional<Id> id_of(std::string_view record_key);
  void restore_one(const std::string& key, const std::string& record);
  bool is_referred(const Id& id) const;
  Id id_for(const Tag& pod, PodObjectKind kind, const std::string& name) const;
  bool is_refused(const Id& id, const std::string& hash);
  bool has_room(const Id& id, std::size_t bytes) const;
  bool make_room(const Id& id, std::size_t bytes);
  void miss(const Id& id, const Missing& missing);
  void forget_missing(const Id& id);
  bool make_room_for_transfer();
  void want(const Id& id, const std::string& hash, Lacking& lacking);
  void hold(const Id& id, const std::string& hash, const std::string& text, const Epoch& at);
  void erase(const Id& id);
  void collect();
  void tell(const Id& id);

  Store& store_;
  VolatileStore* secrets_;
  const Clock& clock_;
  Log& log_;
  std::function<void(const std::string&)> changed_;
  std::map<Id, Held> held_;
  std::size_t held_bytes_ = 0;
  std::map<Id, Transfer> transfers_;
  std::map<Id, Missing> missing_;
  std::map<std::string, Pod> pods_;  // by uid, of those that refer to something
};

}  // namespace berth
