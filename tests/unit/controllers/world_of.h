// A world of objects with controllers at work, for tests.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/controllers/deployment/deployment_controller.h"
#include "core/controllers/replica_set/replica_set_controller.h"
#include "tests/conformance/running_world.h"
#include "tests/conformance/verdict.h"
#include "tests/unit/controllers/zone_files.h"
#include "tests/unit/parsed_json.h"

namespace berth {

class WorldOf {
 public:
  // With the Deployment and the ReplicaSet controller.
  WorldOf() : WorldOf([](NodeLifecycle&) { return controllers(); }, kWithKubelet) {}
  // With others. `input`: as in a case.
  WorldOf(const RunningWorld::MakeControllers& make, std::string_view input)
      : input_(parsed_json(input)), world_(input_, make) {}

  // An operation as tests/conformance/README.md describes them.
  void run(std::string_view operation) { world_.run(parsed_json(operation)); }
  void create(std::string_view kind, std::string_view object) {
    run(R"({"op":"create","kind":")" + std::string(kind) + R"(","obj":)" + std::string(object) + "}");
  }

  std::multiset<std::string> take_actions() { return world_.world().take_actions(); }
  // Null JSON if there is none.
  const Json& object(std::string_view kind, const std::string& name) {
    static const Json kNone;
    const Json* found = world_.world().store().find(kind, key_named(kind, "", name));
    return found == nullptr ? kNone : *found;
  }
  std::vector<std::string> names(std::string_view kind) {
    std::vector<std::string> found;
    for (const ObjectKey& key : world_.world().store().keys(kind)) found.push_back(key.name);
    return found;
  }
  const Json& status(std::string_view kind, const std::string& name) { return at(object(kind, name), "status"); }
  std::int64_t replicas(const std::string& set) {
    return number(at(at(object("ReplicaSet", set), "spec"), "replicas"));
  }

 private:
  static const TimeZoneFiles& zones() {
    static const ZoneFiles kZones;
    return kZones;
  }
  static std::vector<std::unique_ptr<Controller>> controllers() {
    std::vector<std::unique_ptr<Controller>> made;
    made.push_back(std::make_unique<DeploymentController>(zones()));
    made.push_back(std::make_unique<ReplicaSetController>());
    made.push_back(std::make_unique<ReplicaSetController>(kReplicationController));
    return made;
  }

  static constexpr std::string_view kWithKubelet =
      R"({"start":"2026-01-05T10:00:00Z","kubelet":{"readyAfter":1,"goneAfter":1}})";
  Json input_;
  RunningWorld world_;
};

}  // namespace berth
