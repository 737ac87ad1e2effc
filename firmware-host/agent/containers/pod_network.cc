#include "firmware-host/agent/containers/pod_network.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <utility>

#include "core/json/members.h"

namespace berth {

namespace {

constexpr const char* kOwnNetwork = "/proc/self/ns/net";

// Plugins make bridges and rules of the machine: this process is there as long as this lives, and starts them there.
class InNetwork {
 public:
  InNetwork(int there, int back) : back_(back) {
    if (there >= 0 && setns(there, CLONE_NEWNET) != 0) _exit(EXIT_FAILURE);  // plugins would make bridges in the pod
  }
  ~InNetwork() {
    if (back_ >= 0 && setns(back_, CLONE_NEWNET) != 0) _exit(EXIT_FAILURE);  // its pod's probes would go astray
  }
  InNetwork(const InNetwork&) = delete;
  InNetwork& operator=(const InNetwork&) = delete;

 private:
  const int back_;
};

NetworkRecord record_of(const SandboxPlan& plan) {
  const Json& metadata = member(plan.pod, "metadata");
  NetworkRecord record;
  record.network = *plan.network;
  record.plugins = plan.cni_plugins;
  record.id = plan.id;
  record.arguments = "IgnoreUnknown=1;K8S_POD_NAMESPACE=" + metadata.string_at("namespace") +
                     ";K8S_POD_NAME=" + metadata.string_at("name") + ";K8S_POD_UID=" + metadata.string_at("uid");
  record.ports = plan.ports;
  return record;
}

}  // namespace

PodNetwork::PodNetwork(const SandboxPlan& plan) : plan_(plan) {
  if (plan_.network) machine_ = open(kOwnNetwork, O_RDONLY | O_CLOEXEC);
}

PodNetwork::~PodNetwork() {
  for (const int fd : {machine_, own_}) {
    if (fd >= 0) close(fd);
  }
}

template <class Begin>
void PodNetwork::run(const NetworkRecord& record, const Begin& begin) {
  // By the open file: /proc/<pid>/ns/net is the machine's network while this process is there, and a plugin that looks
  // then would take the machine's interfaces for the pod's.
  const std::string own = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(own_);
  run_ = std::make_unique<CniRun>(record.network, record.plugins, record.pod(own));
  const InNetwork machine(machine_, own_);
  begin(*run_);
}

Result<bool> PodNetwork::make() {
  if (stage_ == Stage::there || !plan_.network) return true;
  if (run_ && !run_->is_done()) return false;
  if (own_ < 0) own_ = open(kOwnNetwork, O_RDONLY | O_CLOEXEC);
  if (machine_ < 0 || own_ < 0) return Status::error(std::string("cannot open ") + kOwnNetwork);
  if (stage_ == Stage::none) {
    // Of a keeper that has died: plugins still count its addresses and ports as taken.
    if (const std::optional<NetworkRecord> earlier = NetworkRecord::read(plan_.directory)) {
      stage_ = Stage::removing_earlier;
      run(*earlier, [&](CniRun& each) { each.remove(earlier->result); });
      if (!run_->is_done()) return false;
    }
  }
  if (stage_ == Stage::adding) {
    if (Status taken = take_result(); !taken.is_success()) return taken;
    return true;
  }
  const NetworkRecord record = record_of(plan_);
  if (Status written = record.write(plan_.directory); !written.is_success()) return written;
  stage_ = Stage::adding;
  run(record, [](CniRun& each) { each.add(); });
  return run_->is_done() ? make() : Result<bool>(false);
}

Status PodNetwork::take_result() {
  const std::unique_ptr<CniRun> ended = std::move(run_);
  if (!ended->error().empty()) {
    stage_ = Stage::none;
    NetworkRecord::discard(plan_.directory);  // what it had made it has removed
    return Status::error(ended->error());
  }
  stage_ = Stage::there;
  addresses_ = ended->addresses();
  NetworkRecord record = record_of(plan_);
  record.result = ended->result();
  // Should it not be written, plugins remove what they find.
  const Status written = record.write(plan_.directory);
  static_cast<void>(written);
  return Status::ok();
}

bool PodNetwork::remove() {
  if (stage_ == Stage::removing) {
    if (!run_->is_done()) return false;
    // Otherwise whoever removes the pod tries it again.
    if (run_->error().empty()) NetworkRecord::discard(plan_.directory);
    stage_ = Stage::removed;
  }
  if (stage_ == Stage::removed || own_ < 0) return true;
  if (run_ && !run_->is_done()) {  // it is being made
    run_->kill();
    return false;
  }
  const std::optional<NetworkRecord> record = NetworkRecord::read(plan_.directory);
  if (!record) return true;
  stage_ = Stage::removing;
  run(*record, [&](CniRun& each) { each.remove(record->result); });
  return run_->is_done() ? remove() : false;
}

bool PodNetwork::take_exit(pid_t child, int wait_status) {
  if (!run_) return false;
  const InNetwork machine(machine_, own_);
  return run_->take_exit(child, wait_status);
}

}  // namespace berth
