// PodState: a keeper's state of its pod, as stored in <pod directory>/state.json and as a Kubernetes podStatus.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/clock.h"
#include "core/json/json.h"
#include "firmware-host/agent/active_deadline.h"
#include "firmware-host/agent/recent_events.h"

namespace berth {

struct ContainerState {
  enum class Kind { waiting, running, terminated };
  Kind kind = Kind::waiting;
  std::string reason;  // waiting, terminated
  std::string message;
  int exit_code = 0;  // terminated: as in a shell, 128 + signal if killed
  int signal = 0;
  std::string started_at;
  std::string finished_at;
};

struct ContainerReport {
  std::string name;
  std::string image;
  std::string image_id;  // what the image's name was resolved to; empty: it is none
  // Of the latest run, whose `last` had the same: "runc://<id>". Empty: there was none, or it is a process.
  std::string container_id;
  int restarts = 0;
  ContainerState state;
  ContainerState last;   // the previous run; reported if terminated
  bool is_init = false;  // a finished one that succeeded is ready
  bool sidecar = false;  // an init container that runs along; not in the file
  bool started = false;  // while it runs: its startup probe has succeeded, or it has none
  bool ready = false;    // while it runs: likewise, and its readiness probe
};

// status.conditions[] (pod_conditions.h).
struct ConditionReport {
  std::string type;
  bool holds = false;
  std::string reason;
  std::string message;
  std::string since;  // lastTransitionTime; empty: not known
};

struct PodState {
  static constexpr const char* kFile = "state.json";
  static constexpr const char* kStartDelayed = "StartDelayed";  // the reason of what waits to be started
  static constexpr std::size_t kStatusBytes = 16 * 1024;        // what an agent keeps and reports (core/agent/agent.h)

  std::string handle;     // of the keeper that wrote it
  bool finished = false;  // every container ended for good
  std::string phase = "Pending";
  std::string reason;
  std::string message;
  std::string started_at;
  ActiveSince active;  // of a pod with a deadline
  std::vector<ContainerReport> init_containers;
  std::vector<ContainerReport> containers;
  std::vector<ConditionReport> conditions;
  std::vector<std::string> host_ips;   // of the node when the keeper was planned; empty: unknown
  std::vector<std::string> addresses;  // podIPs; likewise
  std::vector<PodEvent> events;        // the newest
};

// {"handle":...,"finished":...,"boot":...,"activeSince":...,"status":{podStatus}}
Json to_json(const PodState& state);
Result<PodState> parse_pod_state(std::string_view text);
// Only the podStatus object, as text of at most kStatusBytes unless there are very many containers: of a longer one
// messages, and then earlier runs, are left out.
std::string status_text(PodState state);
// The pod's state before its keeper died: what a container does then is not known, only that it does not run any more.
void note_lost_runs(PodState& state);

// The run that an earlier keeper began counts, and is the previous one. A container that waited had none.
void go_on_from(const ContainerReport& earlier, ContainerReport& report);

// The status of a pod that cannot be started, for this reason; `is_over`: for good. What is known of its earlier runs
// stays: they are counted, and none of them runs any more.
std::string not_started_text(const std::string& directory, const std::string& why, bool is_over);

// Replaces `<directory>/<name>` atomically; `durable`: it survives a power cut once this has succeeded. After an error
// the old file stands; ENOENT: the directory is gone.
[[nodiscard]] std::error_code replace_file(const std::string& directory, const std::string& name, std::string_view text,
                                           bool durable);
// Creates `<directory>/<name>`, which must not exist. After an error there is none. Not atomic, nor durable.
[[nodiscard]] std::error_code create_file(const std::string& directory, const std::string& name, std::string_view text);
// The state in a pod's directory; none if the file is missing or damaged. An error: it cannot be read now, so nothing
// is known.
Result<std::optional<PodState>> read_pod_state(const std::string& directory);

}  // namespace berth
