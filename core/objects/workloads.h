// Workloads: the objects of the kinds that controllers look after, decoded when they are stored. Durable in
// Table::object, with their status, which is no part of the manifest: a mirror does not follow each of its changes.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/api/kind.h"
#include "core/api/workload_meta.h"
#include "core/json/json.h"
#include "core/status.h"
#include "core/store.h"

namespace berth {

class Workloads {
 public:
  struct Entry {
    Json manifest;     // as accepted, without the status
    Json status;       // null: none yet
    ObjectPtr object;  // both, decoded
  };
  using Shelf = std::map<std::string, Entry>;  // by "<namespace>/<name>"
  // Null: there was none before, or there is none now.
  using Observer = std::function<void(const ObjectPtr& before, const ObjectPtr& after)>;

  explicit Workloads(Store& store) : store_(store) {}

  // Called after each change, but not by load().
  void observe(Observer observer) { observer_ = std::move(observer); }

  // `stored`: as put() writes it.
  Status load(Kind kind, const Json& stored);
  // Of one kind, which may have none.
  const Shelf& of(Kind kind) const;
  // Null when there is none.
  const Entry* find(Kind kind, const std::string& key) const;
  bool empty() const;

  // Replaces what has its name. An error, which changes nothing: it cannot be decoded.
  Status put(Kind kind, Json manifest, Json status);
  // The next status of an object that is there. `save_later`: with save_deferred(), or with the next put() of it.
  Status put_status(Kind kind, const std::string& key, Json status, bool save_later);
  void save_deferred();
  void erase(Kind kind, const std::string& key);

 private:
  void save(Kind kind, const std::string& key);
  Status take(Kind kind, Json manifest, Json status, std::string& key, ObjectPtr& before);

  Store& store_;
  Observer observer_;
  std::map<Kind, Shelf> shelves_;
  std::set<std::pair<Kind, std::string>> unsaved_;  // whose status is newer than their record
};

}  // namespace berth
