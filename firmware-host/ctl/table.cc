#include "firmware-host/ctl/table.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "core/api/config_objects.h"
#include "core/api/default_class.h"
#include "core/api/timestamp.h"
#include "core/api/workload.h"
#include "firmware-host/ctl/columns.h"
#include "firmware-host/ctl/events.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

constexpr std::size_t kGap = 3;

std::string join(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return text;
}

std::string name_cell(const Json& object) { return text_field(object, {"metadata", "name"}); }
// pkg/printers/internalversion/printers.go printStorageClass
std::string class_name_cell(const Json& object) {
  const bool is_default = std::any_of(
      kDefaultClassAnnotations.begin(), kDefaultClassAnnotations.end(),
      [&object](std::string_view key) { return text_field(object, {"metadata", "annotations", key}) == "true"; });
  return name_cell(object) + (is_default ? " (default)" : "");
}

std::string uid_cell(const Json& object) { return text_field(object, {"metadata", "uid"}); }
std::string phase_cell(const Json& object) { return text_field(object, {"status", "phase"}); }

// A volume or claim that has not been processed yet has no phase.
std::string volume_phase_cell(const Json& volume) {
  if (true_field(volume, {"status", "deleting"})) return "Terminating";
  const std::string phase = phase_cell(volume);
  return phase.empty() ? "Available" : phase;
}

std::string claim_phase_cell(const Json& claim) {
  if (true_field(claim, {"status", "deleting"})) return "Terminating";
  const std::string phase = phase_cell(claim);
  return phase.empty() ? "Pending" : phase;
}

// `member` of the first container of `statuses` that is waiting or has failed.
std::string container_trouble(const Json& pod, const char* statuses, std::string_view member) {
  for (const Json& container : list_field(pod, {"status", statuses})) {
    for (const std::string_view state : {"waiting", "terminated"}) {
      const std::string found = text_field(container, {"state", state, member});
      if (!found.empty() && found != "Completed" && found != "ContainerCreating") return found;
    }
  }
  return {};
}

std::string pod_message(const Json& pod) {
  std::string message = text_field(pod, {"status", "message"});
  for (const char* statuses : {"initContainerStatuses", "containerStatuses"}) {
    if (message.empty()) message = container_trouble(pod, statuses, "message");
  }
  return message;
}

// Until the init containers are done theirs, as kubectl counts (pkg/printers/internalversion/printers.go).
std::string restarts_cell(const Json& pod) {
  const bool is_initializing =
      phase_cell(pod) == "Pending" && !list_field(pod, {"status", "initContainerStatuses"}).empty();
  std::int64_t restarts = 0;
  for (const Json& container :
       list_field(pod, {"status", is_initializing ? "initContainerStatuses" : "containerStatuses"})) {
    const Json* count = container.find("restartCount");
    if (count != nullptr && count->is_integer()) restarts += count->as_int();
  }
  return std::to_string(restarts);
}

// "1/2" as kubectl counts (pkg/printers/internalversion/printers.go printPod): containers, and init containers that run
// along with them.
std::string ready_cell(const Json& pod) {
  const auto is_sidecar = [](const Json& container) { return text_field(container, {"restartPolicy"}) == "Always"; };
  const auto is_ready = [](const Json& container) {
    return true_field(container, {"ready"}) && field(container, {"state", "running"}) != nullptr;
  };
  const Json::Array& init = list_field(pod, {"spec", "initContainers"});
  const Json::Array& statuses = list_field(pod, {"status", "containerStatuses"});
  std::size_t total = std::max(list_field(pod, {"spec", "containers"}).size(), statuses.size());
  auto ready = std::count_if(statuses.begin(), statuses.end(), is_ready);
  total += static_cast<std::size_t>(std::count_if(init.begin(), init.end(), is_sidecar));
  for (const Json& status : list_field(pod, {"status", "initContainerStatuses"})) {
    ready += std::any_of(init.begin(), init.end(), [&](const Json& container) {
      return is_sidecar(container) && is_ready(status) &&
             text_field(container, {"name"}) == text_field(status, {"name"});
    });
  }
  return total == 0 ? std::string() : std::to_string(ready) + "/" + std::to_string(total);
}

std::string node_status_cell(const Json& node) {
  std::string status = has_condition(node, "Ready") ? "Ready" : "NotReady";
  if (true_field(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  if (has_condition(node, "Quarantined")) status += ",Quarantined";
  return status;
}

std::string taints_cell(const Json& node) {
  std::vector<std::string> taints;
  for (const Json& taint : list_field(node, {"spec", "taints"})) taints.push_back(taint_text(taint));
  return join(taints);
}

// "2147483648" -> "2Gi"; a value that is not a whole number of a unit is unchanged.
std::string memory_cell(const Json& node) {
  std::string text = text_field(node, {"status", "allocatable", "memory"});
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size() || bytes == 0) return text;
  std::string unit;
  for (const char* larger : {"Ki", "Mi", "Gi", "Ti"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return std::to_string(bytes) + unit;
}

std::string labels_cell(const Json& object) { return join_pairs(object_field(object, {"metadata", "labels"})); }

// Of an orphan: the claim that it was made for.
std::string claim_cell(const Json& volume) {
  const std::string name = text_field(volume, {"spec", "claimRef", "name"});
  if (name.empty()) return text_field(volume, {"status", "claim"});
  return text_field(volume, {"spec", "claimRef", "namespace"}) + "/" + name;
}

// "app=web,+1": matchLabels, and the number of matchExpressions.
std::string selector_cell(const Json& budget) {
  std::string text = join_pairs(object_field(budget, {"spec", "selector", "matchLabels"}));
  const std::size_t more = list_field(budget, {"spec", "selector", "matchExpressions"}).size();
  if (more > 0) text += (text.empty() ? "" : ",") + std::string("+") + std::to_string(more);
  return text;
}

std::string drivers_cell(const Json& node) {
  std::vector<std::string> drivers;
  for (const Json& driver : list_field(node, {"spec", "drivers"})) {
    const std::string limit = text_field(driver, {"allocatable", "count"});
    drivers.push_back(text_field(driver, {"name"}) + (limit.empty() ? "" : "=" + limit));
  }
  return join(drivers);
}

// pkg/printers/internalversion/printers.go printConfigMap, printSecret.
std::string data_cell(const Json& object) {
  return std::to_string(object_field(object, {"data"}).size() + object_field(object, {"binaryData"}).size());
}

bool has_age(Kind kind) { return is_config(kind) || is_workload(kind); }

std::string created_cell(const Json& object, Millis now) {
  const auto created = parse_timestamp(text_field(object, {"metadata", "creationTimestamp"}));
  return created ? age_text(now - *created) : "<unknown>";
}

// Columns of the kinds that group pods and of the CSI kinds.
const std::vector<Column>& columns_of_other_kind(Kind kind) {
  static const std::vector<Column> kService = {
      {"NAME", name_cell},
      {"SELECTOR", [](const Json& service) { return join_pairs(object_field(service, {"spec", "selector"})); }}};
  static const std::vector<Column> kBudget = {
      {"NAME", name_cell},
      {"MINAVAILABLE", [](const Json& budget) { return text_field(budget, {"spec", "minAvailable"}); }},
      {"MAXUNAVAILABLE", [](const Json& budget) { return text_field(budget, {"spec", "maxUnavailable"}); }},
      {"ALLOWED", [](const Json& budget) { return text_field(budget, {"status", "disruptionsAllowed"}); }},
      {"SELECTOR", selector_cell, true}};
  static const std::vector<Column> kCsiNode = {{"NAME", name_cell}, {"DRIVERS", drivers_cell}};
  static const std::vector<Column> kCsiDriver = {
      {"NAME", name_cell},
      {"STORAGECAPACITY", [](const Json& driver) { return text_field(driver, {"spec", "storageCapacity"}); }}};
  static const std::vector<Column> kCsiCapacity = {
      {"NAME", name_cell},
      {"STORAGECLASS", [](const Json& object) { return text_field(object, {"storageClassName"}); }},
      {"CAPACITY", [](const Json& object) { return text_field(object, {"capacity"}); }},
      {"MAXIMUM", [](const Json& object) { return text_field(object, {"maximumVolumeSize"}); }}};
  static const std::vector<Column> kNamespace = {{"NAME", name_cell}, {"LABELS", labels_cell, true}};
  static const std::vector<Column> kConfigMap = {{"NAME", name_cell}, {"DATA", data_cell}};
  static const std::vector<Column> kSecret = {{"NAME", name_cell},
                                              {"TYPE", [](const Json& secret) { return text_field(secret, {"type"}); }},
                                              {"DATA", data_cell}};
  switch (kind) {
    case Kind::service: return kService;
    case Kind::pod_disruption_budget: return kBudget;
    case Kind::csi_node: return kCsiNode;
    case Kind::csi_driver: return kCsiDriver;
    case Kind::csi_storage_capacity: return kCsiCapacity;
    case Kind::config_map: return kConfigMap;
    case Kind::secret: return kSecret;
    default: return kNamespace;
  }
}

const std::vector<Column>& columns_of_kind(Kind kind) {
  static const std::vector<Column> kPod = {
      {"NAME", name_cell},
      {"READY", ready_cell},
      {"STATUS", pod_status},
      {"NODE", [](const Json& pod) { return text_field(pod, {"status", "nodeName"}); }},
      {"RESTARTS", restarts_cell, true},
      {"IP", [](const Json& pod) { return text_field(pod, {"status", "podIP"}); }, true},
      {"ATTEMPTS", [](const Json& pod) { return text_field(pod, {"status", "scheduler", "attempts"}); }, true},
      {"QUEUE", [](const Json& pod) { return text_field(pod, {"status", "scheduler", "queue"}); }, true},
      {"EPOCH", [](const Json& pod) { return text_field(pod, {"status", "scheduler", "epoch"}); }, true},
      {"UID", uid_cell, true},
      {"MESSAGE", pod_message}};
  static const std::vector<Column> kNode = {
      {"NAME", name_cell},
      {"STATUS", node_status_cell},
      {"TAINTS", taints_cell},
      {"CPU", [](const Json& node) { return text_field(node, {"status", "allocatable", "cpu"}); }},
      {"MEMORY", memory_cell},
      {"PODS", [](const Json& node) { return text_field(node, {"status", "allocatable", "pods"}); }, true},
      {"INCARNATION", [](const Json& node) { return text_field(node, {"status", "incarnation"}); }, true},
      {"CONTAINER-RUNTIME",
       [](const Json& node) { return text_field(node, {"status", "nodeInfo", "containerRuntimeVersion"}); }, true},
      {"LABELS", labels_cell, true}};
  static const std::vector<Column> kVolume = {
      {"NAME", name_cell},
      {"CAPACITY", [](const Json& volume) { return text_field(volume, {"spec", "capacity", "storage"}); }},
      {"STATUS", volume_phase_cell},
      {"CLAIM", claim_cell},
      {"STORAGECLASS", [](const Json& volume) { return text_field(volume, {"spec", "storageClassName"}); }},
      {"RECLAIM", [](const Json& volume) { return text_field(volume, {"spec", "persistentVolumeReclaimPolicy"}); },
       true},
      {"ACCESS", [](const Json& volume) { return join_texts(list_field(volume, {"spec", "accessModes"}), ","); }, true},
      {"PATH", [](const Json& volume) { return text_field(volume, {"spec", "local", "path"}); }}};
  static const std::vector<Column> kClaim = {
      {"NAME", name_cell},
      {"STATUS", claim_phase_cell},
      {"VOLUME", [](const Json& claim) { return text_field(claim, {"spec", "volumeName"}); }},
      {"REQUEST", [](const Json& claim) { return text_field(claim, {"spec", "resources", "requests", "storage"}); }},
      {"STORAGECLASS", [](const Json& claim) { return text_field(claim, {"spec", "storageClassName"}); }},
      {"ACCESS", [](const Json& claim) { return join_texts(list_field(claim, {"spec", "accessModes"}), ","); }, true},
      {"UID", uid_cell, true}};
  static const std::vector<Column> kClass = {
      {"NAME", class_name_cell},
      {"PROVISIONER", [](const Json& object) { return text_field(object, {"provisioner"}); }},
      {"RECLAIM", [](const Json& object) { return text_field(object, {"reclaimPolicy"}); }},
      {"BINDING", [](const Json& object) { return text_field(object, {"volumeBindingMode"}); }}};
  static const std::vector<Column> kPriority = {
      {"NAME", name_cell},
      {"VALUE", [](const Json& object) { return text_field(object, {"value"}); }},
      {"DEFAULT", [](const Json& object) { return text_field(object, {"globalDefault"}); }},
      {"PREEMPTION", [](const Json& object) { return text_field(object, {"preemptionPolicy"}); }}};
  switch (kind) {
    case Kind::pod: return kPod;
    case Kind::node: return kNode;
    case Kind::persistent_volume: return kVolume;
    case Kind::persistent_volume_claim: return kClaim;
    case Kind::storage_class: return kClass;
    case Kind::priority_class: return kPriority;
    default: return is_workload(kind) ? workload_columns(kind) : columns_of_other_kind(kind);
  }
}

}  // namespace

std::string pod_status(const Json& pod) {
  if (true_field(pod, {"status", "deleting"})) return "Terminating";
  std::string phase = phase_cell(pod);
  if (phase == "Succeeded" || phase == "Failed") return phase;
  const std::string init = container_trouble(pod, "initContainerStatuses", "reason");
  if (!init.empty() && init != "PodInitializing") return "Init:" + init;
  if (const std::string trouble = container_trouble(pod, "containerStatuses", "reason"); !trouble.empty())
    return trouble;
  if (phase == "Pending" && has_condition(pod, "PodScheduled")) return "Scheduled";
  return phase.empty() ? "Pending" : phase;
}

Cells table_header(Kind kind, const TableForm& form) {
  Cells row;
  if (form.with_namespace && describe(kind).namespaced) row.emplace_back("NAMESPACE");
  for (const Column& column : columns_of_kind(kind)) {
    if (form.wide || !column.wide) row.emplace_back(column.title);
  }
  if (has_age(kind)) row.emplace_back("AGE");
  return row;
}

Cells table_row(Kind kind, const Json& object, const TableForm& form) {
  Cells row;
  if (form.with_namespace && describe(kind).namespaced) row.push_back(text_field(object, {"metadata", "namespace"}));
  for (const Column& column : columns_of_kind(kind)) {
    if (!form.wide && column.wide) continue;
    row.push_back(column.timed == nullptr ? column.cell(object) : column.timed(object, form.now));
  }
  if (has_age(kind)) row.push_back(created_cell(object, form.now));
  for (std::string& cell : row) {
    if (cell.empty()) cell.push_back('-');
  }
  return row;
}

void TableWriter::measure(const Cells& row) {
  if (widths_.size() < row.size()) widths_.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], columns_of(printable(row[i])));
}

std::string TableWriter::line(const Cells& row) {
  measure(row);
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string cell = printable(row[i]);
    text += cell;
    if (i + 1 < row.size()) text.append(widths_[i] - columns_of(cell) + kGap, ' ');
  }
  return text + "\n";
}

}  // namespace berth
