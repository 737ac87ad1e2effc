#include "core/objects/pod_report.h"

#include <algorithm>
#include <utility>

#include "core/api/timestamp.h"
#include "core/json/field_reader.h"

namespace berth {

namespace {

constexpr std::size_t kEventIdBytesMax = 32;
constexpr std::size_t kEventReasonBytesMax = 128;
constexpr std::string_view kTimeForm = "a time such as 2026-01-31T12:00:00Z";

bool is_time(std::string_view text) { return parse_timestamp(text).has_value(); }

// The form alone: nothing connects to it.
bool is_address(std::string_view text) {
  return !text.empty() && text.size() <= 45 &&  // INET6_ADDRSTRLEN
         text.find_first_not_of("0123456789abcdefABCDEF.:") == std::string_view::npos;
}

constexpr std::string_view kAddressForm = "an address of IPv4 or IPv6";

// core/v1 PodIP.
void read_address(FieldReader& address) {
  std::string text;
  if (!address.has("ip")) address.error("ip", "missing; which address is it?");
  address.read_checked("ip", text, is_address, kAddressForm);
}

void read_texts(FieldReader& reader, std::initializer_list<std::string_view> keys) {
  std::string text;
  for (std::string_view key : keys) reader.read_string(key, text);
}

void read_times(FieldReader& reader, std::initializer_list<std::string_view> keys) {
  std::string text;
  for (std::string_view key : keys) reader.read_checked(key, text, is_time, kTimeForm);
}

void read_state(FieldReader& state) {
  std::int32_t number = 0;
  if (state.has("waiting") + state.has("running") + state.has("terminated") > 1) {
    state.findings().error(state.path(), "expected one of waiting, running and terminated, got several");
  }
  state.read_object("waiting", [](FieldReader& waiting) { read_texts(waiting, {"reason", "message"}); });
  state.read_object("running", [](FieldReader& running) { read_times(running, {"startedAt"}); });
  state.read_object("terminated", [&number](FieldReader& terminated) {
    terminated.read_int32("exitCode", number);
    terminated.read_int32("signal", number);
    read_texts(terminated, {"reason", "message", "containerID"});
    read_times(terminated, {"startedAt", "finishedAt"});
  });
}

// core/v1 ContainerStatus.
void read_container(FieldReader& container) {
  bool flag = false;
  std::int32_t count = 0;
  if (!container.has("name")) container.error("name", "missing; which container is it?");
  read_texts(container, {"name", "image", "imageID", "containerID"});
  container.read_bool("ready", flag);
  container.read_bool("started", flag);
  container.read_int32("restartCount", count, 0);
  container.read_object("state", read_state);
  container.read_object("lastState", read_state);
}

// core/v1 PodCondition.
void read_condition(FieldReader& condition) {
  std::string text;
  if (!condition.has("type")) condition.error("type", "missing; which condition is it?");
  read_texts(condition, {"type", "reason", "message"});
  condition.read_enum("status", {"True", "False", "Unknown"}, text);
  read_times(condition, {"lastTransitionTime", "lastProbeTime"});
}

// An event that the device tells of (transports/README.md): the syntax of reasons is upstream's of events.
void read_event(FieldReader& event) {
  const auto is_short = [](std::string_view text) { return !text.empty() && text.size() <= kEventIdBytesMax; };
  const auto is_reason = [](std::string_view text) {
    return !text.empty() && text.size() <= kEventReasonBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
  };
  std::string text;
  for (std::string_view key : {"id", "reason", "message"}) {
    if (!event.has(key)) event.error(key, "missing");
  }
  event.read_checked("id", text, is_short, "at most 32 characters");
  event.read_checked("reason", text, is_reason, "at most 128 letters and digits");
  event.read_enum("type", {"Normal", "Warning"}, text);
  read_texts(event, {"message"});
}

void note_first(std::string& first, const Findings& findings) {
  if (first.empty() && findings.has_errors()) first = findings.status().reasons().front();
}

// False: the member is to go.
bool check_member(const Json& report, std::string_view key, std::string& first) {
  Findings findings;
  FieldReader reader(report, "", findings);
  std::string text;
  if (key == "phase") {
    reader.read_enum(key, {"Pending", "Running", "Succeeded", "Failed"}, text);
  } else if (key == "startTime") {
    read_times(reader, {key});
  } else if (key == "podIP" || key == "hostIP") {
    reader.read_checked(key, text, is_address, kAddressForm);
  } else {
    read_texts(reader, {key});
  }
  note_first(first, findings);
  return !findings.has_errors();
}

// The items that are right; null: it is no list.
Json check_items(const Json& list, std::string_view key, void (*read)(FieldReader&), std::string& first) {
  if (!list.is_array()) {
    if (first.empty()) first = std::string(key) + ": expected a list, got " + show_found(list);
    return {};
  }
  Json right = Json::array();
  std::size_t index = 0;
  for (const Json& item : list.as_array()) {
    Findings findings;
    FieldReader reader(item, item_path(key, index++), findings);
    if (item.is_object()) read(reader);
    note_first(first, findings);
    if (!findings.has_errors()) right.push_back(item);
  }
  return right;
}

using ReadItem = void (*)(FieldReader&);

constexpr std::pair<std::string_view, ReadItem> kLists[] = {{"initContainerStatuses", read_container},
                                                            {"containerStatuses", read_container},
                                                            {"conditions", read_condition},
                                                            {"events", read_event},
                                                            {"hostIPs", read_address},
                                                            {"podIPs", read_address}};

}  // namespace

std::string remove_faults(Json& report) {
  std::string first;
  for (std::string_view key : {"phase", "startTime", "hostIP", "podIP", "reason", "message"}) {
    if (report.find(key) != nullptr && !check_member(report, key, first)) report.erase(key);
  }
  for (const auto& [key, read] : kLists) {
    const Json* list = report.find(key);
    if (list == nullptr || list->is_null()) continue;
    const std::string before = first;
    Json right = check_items(*list, key, read, first);
    if (right.is_null()) {
      report.erase(key);
    } else if (first != before || right.as_array().size() != list->as_array().size()) {
      report.set(key, std::move(right));
    }
  }
  return first;
}

}  // namespace berth
