#include "core/check.h"
#include "firmware-host/ctl/columns.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

std::string workload_name(const Json& object) { return text_field(object, {"metadata", "name"}); }

// A number that a status leaves out is 0.
template <class... Path>
std::string number_at(const Json& object, Path... path) {
  const std::string number = text_field(object, {path...});
  return number.empty() ? "0" : number;
}

// Of what is watched there is only the status.
std::string desired_replicas(const Json& object) {
  if (object.find("spec") == nullptr) return number_at(object, "status", "replicas");
  const std::string said = text_field(object, {"spec", "replicas"});
  return said.empty() ? "1" : said;
}

std::string ready_of_desired(const Json& object) {
  return number_at(object, "status", "readyReplicas") + "/" + desired_replicas(object);
}

std::string template_images(const Json& object) {
  std::string images;
  for (const Json& container : list_field(object, {"spec", "template", "spec", "containers"})) {
    images += (images.empty() ? "" : ",") + text_field(container, {"image"});
  }
  return images;
}

std::string match_labels(const Json& object) {
  return join_pairs(object_field(object, {"spec", "selector", "matchLabels"}));
}

}  // namespace

const std::vector<Column>& workload_columns(Kind kind) {
  static const std::vector<Column> kDeployment = {
      {"NAME", workload_name},
      {"READY", ready_of_desired},
      {"UP-TO-DATE", [](const Json& object) { return number_at(object, "status", "updatedReplicas"); }},
      {"AVAILABLE", [](const Json& object) { return number_at(object, "status", "availableReplicas"); }},
      {"IMAGES", template_images, true},
      {"SELECTOR", match_labels, true}};
  static const std::vector<Column> kReplicaSet = {
      {"NAME", workload_name},
      {"DESIRED", desired_replicas},
      {"CURRENT", [](const Json& object) { return number_at(object, "status", "replicas"); }},
      {"READY", [](const Json& object) { return number_at(object, "status", "readyReplicas"); }},
      {"IMAGES", template_images, true},
      {"SELECTOR", match_labels, true}};
  switch (kind) {
    case Kind::deployment: return kDeployment;
    case Kind::replica_set:
    case Kind::replication_controller: return kReplicaSet;
    default: check_failed("no kind of a workload", __FILE__, __LINE__);
  }
}

}  // namespace berth
