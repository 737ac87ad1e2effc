// A gateway with workloads, and devices that take every pod, run it and end it when they are asked to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/api/timestamp.h"
#include "core/json/members.h"
#include "tests/unit/gateway/gateway_fixture.h"
#include "tests/unit/parsed_json.h"

namespace berth {

class WorkloadsFixture : public GatewayTest {
 protected:
  WorkloadsFixture() { clock.booted_ms = 1'750'000'000'000; }

  void start_with_device() {
    start_connected();
    connect_device();
  }
  void connect_device() { device("n1", "i1", R"({"cpu":"100","memory":"100Gi","pods":"1000"})"); }

  static std::string deployment(const std::string& name, int replicas, const std::string& image = "app:1",
                                const std::string& more_spec = "") {
    return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name + R"("},"spec":{"replicas":)" +
           std::to_string(replicas) + R"(,"selector":{"matchLabels":{"app":")" + name +
           R"("}},"template":{"metadata":{"labels":{"app":")" + name +
           R"("}},"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}})" + more_spec + "}}";
  }

  // The device answers what it is asked until nothing more is asked.
  void run_devices() {
    for (int round = 0; round < 200; ++round) {
      turn();
      bool is_asked = false;
      for (const Message& message : std::exchange(transport.sent, {})) {
        if (message.topic != topics.node_requests("n1")) continue;
        const Result<Request> asked = decode_request(message.payload);
        if (asked && takes(*asked)) is_asked = true;
      }
      if (!is_asked && !pending()) return;
    }
    FAIL() << "the device is asked without end";
  }
  // As run_devices(), until this time has passed.
  void run_devices_for(Millis ms) {
    for (Millis at = 0; at < ms; at += 500) {
      run_devices();
      advance(500);
    }
    run_devices();
  }

  std::vector<const Pod*> pods() const {
    std::map<std::string, const Pod*> by_key;
    for (const auto& [key, entry] : gateway->objects().pods().all()) by_key.emplace(key, entry.pod.get());
    std::vector<const Pod*> found;
    for (const auto& [key, pod] : by_key) found.push_back(pod);
    return found;
  }
  // Those that nobody has deleted.
  std::size_t staying() const {
    std::size_t count = 0;
    for (const auto& [key, entry] : gateway->objects().pods().all()) count += entry.deleting ? 0 : 1;
    return count;
  }
  std::size_t running() const {
    std::size_t count = 0;
    for (const auto& [uid, binding] : gateway->bindings()) {
      if (binding.row.phase == Phase::bound) ++count;
    }
    return count;
  }
  Json get(const std::string& kind, const std::string& name) {
    const Json reply = api(R"({"op":"get","kind":")" + kind + R"(","name":")" + name + R"("})");
    return member(reply, "object");
  }
  std::int64_t count_of(const std::string& kind, const std::string& name, std::string_view field) {
    const Json object = get(kind, name);
    const Json& value = member(member(object, "status"), field);
    return value.is_integer() ? value.as_int() : 0;
  }
  std::vector<std::string> keys(Kind kind) const { return gateway->objects().keys(kind); }
  Json remove(const std::string& kind, const std::string& name, const std::string& propagation = "") {
    return api(R"({"op":"delete","kind":")" + kind + R"(","name":")" + name + R"(","propagation":")" + propagation +
               R"("})");
  }
  // The device says that the pod has ended.
  void end_pod(const Pod& pod, const std::string& phase) { report(std::string(pod.uid()), pod.metadata.key(), phase); }

  // Pods that the device does not take to be ready.
  bool reports_ready = true;

 private:
  // Whether a turn left something to the next one.
  bool pending() {
    const std::optional<Millis> next = timers.next();
    if (!next || *next > clock.now_ms) return false;
    timers.run_due(clock.now_ms);
    return true;
  }
  bool takes(const Request& asked) {
    switch (asked.type) {
      case RequestType::pre_bind: answer("n1", answer_to(asked, AnswerType::pre_bound)); return true;
      case RequestType::bind:
        answer("n1", answer_to(asked, AnswerType::bound));
        if (const PodEntry* entry = gateway->objects().pods().find_by_uid(asked.uid)) {
          report(asked.uid, std::string(entry->key), "Running");
        }
        return true;
      case RequestType::release: answer("n1", answer_to(asked, AnswerType::released)); return true;
      default: return false;
    }
  }
  void report(const std::string& uid, const std::string& key, const std::string& phase) {
    const auto binding = gateway->bindings().find(uid);
    if (binding == gateway->bindings().end()) return;
    Json ready = Json::object();
    ready.set("type", "Ready").set("status", reports_ready && phase == "Running" ? "True" : "False");
    ready.set("lastTransitionTime", to_timestamp(clock.wall()));
    Json status = Json::object();
    status.set("uid", uid).set("epoch", to_text(binding->second.row.epoch)).set("incarnation", "i1");
    status.set("slot", "running").set("phase", phase).set("conditions", Json(Json::Array{std::move(ready)}));
    receive(topics.node_pod("n1", key), status.dump(), true);
  }
};

}  // namespace berth
