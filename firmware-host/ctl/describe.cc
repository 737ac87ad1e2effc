// describe: shows one object in detail.
#include <algorithm>
#include <utility>

#include "core/api/workload.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/events.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/yaml.h"

namespace berth {

namespace {

constexpr std::size_t kLabelWidth = 16;

class Page {
 public:
  explicit Page(std::ostream& out) : out_(out) {}

  void line(const std::string& label, const std::string& text, int depth = 0) {
    if (text.empty()) return;
    const std::size_t indent = static_cast<std::size_t>(depth) * 2;
    const std::string head = std::string(indent, ' ') + label + ":";
    const std::size_t width = kLabelWidth + std::min<std::size_t>(indent, 4);
    out_ << head << std::string(head.size() < width ? width - head.size() : 1, ' ') << printable(text) << "\n";
  }
  void title(const std::string& label, int depth = 0) {
    out_ << std::string(static_cast<std::size_t>(depth) * 2, ' ') << label << ":\n";
  }
  // Values as YAML, indented.
  void block(const std::string& label, const Json* value) {
    if (value == nullptr || value->is_null() || *value == Json::object() || *value == Json::array()) return;
    title(label);
    const std::string text = dump_yaml(*value);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      out_ << "  " << text.substr(at, end - at) << "\n";
      at = end + 1;
    }
  }
  std::ostream& out() { return out_; }

 private:
  std::ostream& out_;
};

std::string toleration_text(const Json& toleration) {
  std::string text = text_field(toleration, {"key"});
  if (text.empty()) text = "every taint";
  if (const std::string value = text_field(toleration, {"value"}); !value.empty()) text += "=" + value;
  if (const std::string effect = text_field(toleration, {"effect"}); !effect.empty()) text += ":" + effect;
  return text;
}

// As kubectl shows a ContainerState; `label`: "State" or "Last State".
void write_state(Page& page, const std::string& label, const Json& states) {
  for (const auto& [state, title] :
       {std::pair{"waiting", "Waiting"}, {"running", "Running"}, {"terminated", "Terminated"}}) {
    const Json* found = states.find(state);
    if (found == nullptr) continue;
    const Json& detail = *found;
    page.line(label, title, 2);
    for (const auto& [name, key] : {std::pair{"Reason", "reason"},
                                    {"Message", "message"},
                                    {"Exit Code", "exitCode"},
                                    {"Signal", "signal"},
                                    {"Started", "startedAt"},
                                    {"Finished", "finishedAt"}}) {
      page.line(name, text_field(detail, {key}), 3);
    }
  }
}

void write_meta(Page& page, const Json& object) {
  page.line("Name", text_field(object, {"metadata", "name"}));
  page.line("Namespace", text_field(object, {"metadata", "namespace"}));
  page.line("UID", text_field(object, {"metadata", "uid"}));
  page.line("Labels", join_pairs(object_field(object, {"metadata", "labels"})));
  page.line("Annotations", join_pairs(object_field(object, {"metadata", "annotations"})));
}

// `field`: "containers" or "initContainers"; `statuses`: what the pod's status has of them.
void write_containers(Page& page, const char* label, const Json& pod, const char* field, const char* statuses) {
  const Json::Array& containers = list_field(pod, {"spec", field});
  if (containers.empty()) return;
  page.title(label);
  for (const Json& container : containers) {
    const std::string name = text_field(container, {"name"});
    page.title(name, 1);
    page.line("Image", text_field(container, {"image"}), 2);
    page.line("Command", join_texts(list_field(container, {"command"}), " "), 2);
    page.line("Args", join_texts(list_field(container, {"args"}), " "), 2);
    page.line("Requests", join_pairs(object_field(container, {"resources", "requests"})), 2);
    page.line("Limits", join_pairs(object_field(container, {"resources", "limits"})), 2);
    for (const Json& status : list_field(pod, {"status", statuses})) {
      if (text_field(status, {"name"}) != name) continue;
      write_state(page, "State", Json(object_field(status, {"state"})));
      write_state(page, "Last State", Json(object_field(status, {"lastState"})));
      page.line("Ready", true_field(status, {"ready"}) ? "True" : "False", 2);
      page.line("Restart Count", text_field(status, {"restartCount"}), 2);
    }
  }
}

void write_conditions(Page& page, const Json& pod) {
  const Json::Array& conditions = list_field(pod, {"status", "conditions"});
  if (!conditions.empty()) page.title("Conditions");
  for (const Json& condition : conditions) {
    const std::string reason = text_field(condition, {"reason"});
    page.line(text_field(condition, {"type"}),
              text_field(condition, {"status"}) + (reason.empty() ? "" : ", " + reason), 1);
  }
}

void write_pod(Page& page, const Json& pod) {
  write_meta(page, pod);
  page.line("Status", pod_status(pod));
  page.line("Node", text_field(pod, {"status", "nodeName"}));
  page.line("Start Time", text_field(pod, {"status", "startTime"}));
  page.line("Message", text_field(pod, {"status", "message"}));
  for (const Json& condition : list_field(pod, {"status", "conditions"})) {
    if (text_field(condition, {"type"}) == "UnknownFields") page.line("Ignored", text_field(condition, {"message"}));
  }
  write_conditions(page, pod);
  page.line("Priority", text_field(pod, {"spec", "priority"}));
  page.line("Node selector", join_pairs(object_field(pod, {"spec", "nodeSelector"})));
  for (const Json& toleration : list_field(pod, {"spec", "tolerations"})) {
    page.line("Tolerates", toleration_text(toleration));
  }
  for (const Json& volume : list_field(pod, {"spec", "volumes"})) {
    const std::string claim = text_field(volume, {"persistentVolumeClaim", "claimName"});
    page.line("Volume", text_field(volume, {"name"}) + (claim.empty() ? "" : ", claim " + claim));
  }
  write_containers(page, "Init Containers", pod, "initContainers", "initContainerStatuses");
  write_containers(page, "Containers", pod, "containers", "containerStatuses");
  page.block("Scheduler", field(pod, {"status", "scheduler"}));
}

// Empty: the device does not say.
std::string features_text(const Json& node) {
  const Json* features = field(node, {"status", "declaredFeatures"});
  if (features == nullptr) return {};
  const std::string names = join_texts(list_field(node, {"status", "declaredFeatures"}), ", ");
  return names.empty() ? "none" : names;
}

void write_node(Page& page, const Json& node) {
  write_meta(page, node);
  page.line("Ready", has_condition(node, "Ready") ? "yes" : "no");
  for (const Json& condition : list_field(node, {"status", "conditions"})) {
    page.line("Message", text_field(condition, {"message"}));
  }
  if (true_field(node, {"spec", "unschedulable"})) page.line("Unschedulable", "yes");
  for (const Json& taint : list_field(node, {"spec", "taints"})) page.line("Taint", taint_text(taint));
  page.line("Incarnation", text_field(node, {"status", "incarnation"}));
  page.line("Container runtime", text_field(node, {"status", "nodeInfo", "containerRuntimeVersion"}));
  page.line("Features", features_text(node));
  page.block("Allocatable", field(node, {"status", "allocatable"}));
  page.block("Images", field(node, {"status", "images"}));
}

// What only the API server writes is left out.
void write_workload(Page& page, const Json& workload) {
  write_meta(page, workload);
  for (const Json& owner : list_field(workload, {"metadata", "ownerReferences"})) {
    page.line("Controlled By", text_field(owner, {"kind"}) + "/" + text_field(owner, {"name"}));
  }
  write_conditions(page, workload);
  for (const std::string_view part : {"spec", "data", "status"}) {
    if (const Json* value = workload.find(part)) {
      Json shown = *value;
      if (part == "status") shown.erase("conditions");
      page.block(std::string(part), &shown);
    }
  }
}

// As kubectl describes a Secret: of its values the sizes only, which is all that the gateway was asked for.
void write_secret(Page& page, const Json& secret) {
  write_meta(page, secret);
  page.line("Type", text_field(secret, {"type"}));
  page.line("Immutable", text_field(secret, {"immutable"}));
  page.title("Data");
  for (const auto& [key, bytes] : object_field(secret, {"data"})) {
    page.line(key, (bytes.is_integer() ? std::to_string(bytes.as_int()) : "?") + " bytes", 1);
  }
}

}  // namespace

Outcome<void> run_describe(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  const Outcome<const KindName*> kind = kind_named(options.kind);
  if (!kind) return std::unexpected(kind.error());
  Json request = Json::object();
  request.set("op", "describe").set("kind", (*kind)->name).set("name", options.name);
  request.set("namespace", namespace_of(options));
  Outcome<Json> answer = client.ask(std::move(request), true);
  if (!answer) return std::unexpected(std::move(answer.error()));
  Json* object = answer->find("object");
  if (object == nullptr) return fail(Exit::refused, "invalid answer from the gateway: missing object");
  Page page(screen.out);
  if ((*kind)->kind == Kind::pod) {
    write_pod(page, *object);
  } else if ((*kind)->kind == Kind::node) {
    write_node(page, *object);
  } else if ((*kind)->kind == Kind::secret) {
    write_secret(page, *object);
  } else if (is_workload((*kind)->kind)) {
    write_workload(page, *object);
  } else {
    write_meta(page, *object);
    for (const auto& [key, value] : object->as_object()) {
      if (key != "metadata" && key != "apiVersion") page.block(key, &value);
    }
  }
  write_events(list_field(*answer, {"events"}), screen.out);
  return {};
}

}  // namespace berth
