#include "tests/sim/workload_operator.h"

#include "tests/sim/sim_device.h"

namespace berth::sim {

namespace {

constexpr char kDeployment[] = "work/web";
constexpr int kSurge = 1, kUnavailable = 1;

std::string version_of(const Pod& pod) {
  const auto found = pod.metadata.labels.find("version");
  return found == pod.metadata.labels.end() ? std::string() : found->second;
}

}  // namespace

WorkloadOperator::WorkloadOperator(SimEnvironment& world, std::uint64_t seed)
    : world_(world), topics_(kFleet), client_(world.broker, "deployer"), random_(seed ^ 0x44504c59) {
  client_.set_handler(this);
}

Json WorkloadOperator::manifest() const {
  // What is not asked for is to be noticed.
  const int replicas = replicas_ + (world_.sabotage == Sabotage::rollout ? kSurge + 1 : 0);
  const std::string text =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"work"},"spec":{"replicas":)" +
      std::to_string(replicas) +
      R"(,"selector":{"matchLabels":{"app":"web"}},"strategy":{"rollingUpdate":{"maxSurge":)" + std::to_string(kSurge) +
      R"(,"maxUnavailable":)" + std::to_string(kUnavailable) +
      R"(}},"template":{"metadata":{"labels":{"app":"web","version":"v)" + std::to_string(version_) +
      R"("}},"spec":{"containers":[{"name":"main","image":"sim","resources":{"requests":{"cpu":"10m","memory":"1Mi"}}}]}}}})";
  return *Json::parse(text);
}

void WorkloadOperator::act() {
  switch (random_.below(6)) {
    case 0: exists_ = false; break;
    case 1:
    case 2: ++version_; [[fallthrough]];
    default: exists_ = true; replicas_ = static_cast<int>(random_.below(4));
  }
  world_.note("deployer", exists_ ? "wants " + std::to_string(replicas_) + " pods of v" + std::to_string(version_)
                                  : std::string("deletes its deployment"));
  say_again();
}

// Orders that the broker retains are carried out by a gateway that comes back.
void WorkloadOperator::say_again() {
  Message message;
  message.topic = topics_.desired(Kind::deployment, kDeployment);
  message.payload = (exists_ ? manifest() : Json(Json::Object{{"deleted", Json(true)}})).dump();
  message.retain = true;
  client_.send(message);
}

Breach WorkloadOperator::find_difference(const Gateway& gateway) const {
  int right = 0, wrong = 0, waiting = 0;
  for (const auto& [key, entry] : gateway.objects().pods().all()) {
    if (entry.pod->metadata.namespace_ != kWorkloads || entry.deleting || entry.finished) continue;
    const bool is_right = exists_ && version_of(*entry.pod) == "v" + std::to_string(version_);
    ++(is_right ? right : wrong);
    const auto binding = gateway.bindings().find(entry.pod->uid());
    if (binding == gateway.bindings().end() || binding->second.row.phase != Phase::bound) ++waiting;
  }
  const int expected = exists_ ? replicas_ : 0;
  const std::string what = std::to_string(right) + " pods of the last version and " + std::to_string(wrong) +
                           " others, " + std::to_string(waiting) + " of them without a node, where " +
                           std::to_string(expected) + " are expected";
  if (right + wrong > expected + (exists_ ? kSurge : 0)) return what;
  if (right + wrong < expected - kUnavailable) return what;
  if (waiting == 0 && (wrong > 0 || right != expected)) return what;
  return {};
}

}  // namespace berth::sim
