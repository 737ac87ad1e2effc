// Trace: a recorded sequence of operations for the scheduler, one JSON object a line, in the order in which they
// happen:
//
//   {"op": "sc" | "pv" | "pvc" | "node" | "upnode" | "pod", "obj": MANIFEST}   the object comes; upnode: the node
//   changes
//   {"op": "place", "obj": POD, "node": NAME}                                  the pod is on the node already
//   {"op": "delete", "pod": "NAMESPACE/NAME"}                                  wherever the pod is
//   {"op": "drain"}                                                            schedule until no pod is to be tried
//   {"op": "measure"}                                                          what follows is measured
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/json/json.h"
#include "core/status.h"
#include "tests/bench/recorder.h"
#include "tests/bench/world.h"

namespace berth::bench {

class Trace {
 public:
  // Reads all operations; the objects are decoded, so that replaying them costs what the scheduler costs.
  static Result<Trace> read(const std::string& path);
  // Replays all of it, and records what follows "measure".
  Status replay(World& world, Recorder& recorder) const;
  // Named like the file, without its folder and endings.
  const std::string& name() const { return name_; }
  std::size_t nodes() const { return nodes_; }
  // True when no pod comes in the measured part: pods that wait are tried again, and attempts are what counts.
  bool is_storm() const { return measured_pods_ == 0; }

 private:
  enum class Kind { storage_class, volume, claim, node, node_update, pod, place, remove, drain, measure };
  struct Operation {
    Kind kind = Kind::drain;
    Json object;  // storage_class, volume, claim
    std::shared_ptr<const Node> node;
    PodPtr pod;
    std::string name;  // place: the node; remove: the pod's key
  };
  static Result<Operation> read_operation(const std::string& line);
  static Status apply(const Operation& operation, World& world);

  std::string name_;
  std::vector<Operation> operations_;
  std::size_t nodes_ = 0;
  std::size_t measured_pods_ = 0;
};

}  // namespace berth::bench
