// The objects of a controller case as its API server keeps them: names, uids, generations, deletion. Knows nothing of
// controllers. Times are milliseconds since 1970.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/controllers/controller.h"
#include "core/json/json.h"

namespace berth {

class WorldStore {
 public:
  explicit WorldStore(Millis start) : now_(start) {}

  Millis now() const { return now_; }
  void set_now(Millis now) { now_ = now; }

  // The name of the new object: its own, or made from generateName; empty if the name is taken.
  std::string create(std::string_view kind, Json object);
  // Merge patches of everything but the status, and of the status. False if there is no such object.
  bool patch(std::string_view kind, const ObjectKey& key, const Json& merge);
  bool patch_status(std::string_view kind, const ObjectKey& key, const Json& merge);
  // The same as `merge` in a recorded action, in which conditions are a map from their type.
  bool patch_recorded(std::string_view kind, const ObjectKey& key, const Json& merge);
  bool remove(std::string_view kind, const ObjectKey& key, const DeleteOptions& options);

  // When the object was created, in more detail than its creationTimestamp says. Only for one that exists.
  Millis created_at(std::string_view kind, const ObjectKey& key) const;
  // Null if there is none; valid until the next write.
  const Json* find(std::string_view kind, const ObjectKey& key) const;
  ObjectPtr find_typed(std::string_view kind, const ObjectKey& key) const;
  // Ordered by namespace and name; an empty namespace: all.
  std::vector<ObjectKey> keys(std::string_view kind, std::string_view name_space = "") const;
  std::vector<std::string> kinds() const;
  bool knows(std::string_view kind) const;

  // The writes since the last call, in order.
  std::vector<ObjectChange> take_changes();

 private:
  struct Entry {
    Json json;
    ObjectPtr typed;
    Millis created;
  };
  using Shelf = std::map<ObjectKey, Entry>;

  Entry* entry(std::string_view kind, const ObjectKey& key);
  std::string next_name(std::string_view kind, const Json& object);
  // Stores what a write has made of an object, or removes the object if it may go now.
  void store(std::string_view kind, Shelf::iterator at, Json changed);
  void mark_deleted(Json& object, std::int64_t grace);

  Millis now_;
  std::map<std::string, Shelf, std::less<>> shelves_;
  std::map<std::string, int> names_;  // by kind and generateName
  std::map<std::string, int> uids_;   // by kind and name
  std::vector<ObjectChange> changes_;
};

// Without members that are null, zero, false or empty, which are the same as absent ones; an item of a list stays.
Json without_nothing(const Json& value);
// The key of an object; the namespace, which nodes do not have, is "default" when it is empty.
ObjectKey key_named(std::string_view kind, std::string name_space, std::string name);
// status.conditions as a map from the type, and back.
Json conditions_by_type(const Json& conditions);
Json conditions_list(const Json& by_type);

}  // namespace berth
