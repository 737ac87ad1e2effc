// Events, as `get events` and `describe` show them.
#include "firmware-host/ctl/events.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "core/api/kind.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

// Milliseconds of the wall clock; none: not a number.
std::optional<Millis> wall_at(const Json& event, const char* key) {
  const std::string text = text_field(event, {key});
  Millis wall = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wall);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return wall;
}

std::string age_cell(const Json& event, const char* key, Millis now) {
  const std::optional<Millis> wall = wall_at(event, key);
  return wall ? age_text(now - *wall) : "<unknown>";
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string object_cell(const Json& event) {
  return lower(text_field(event, {"kind"})) + "/" + text_field(event, {"name"});
}

std::string time_text(const Json& event, const char* key) {
  const std::optional<Millis> wall = wall_at(event, key);
  return wall ? to_rfc3339(*wall) : std::string();
}

// The form that Kubernetes gives an Event (core/v1).
Json event_object(const Json& event) {
  Json involved = Json::object();
  involved.set("kind", text_field(event, {"kind"})).set("name", text_field(event, {"name"}));
  const std::string name_space = text_field(event, {"namespace"});
  const KindName* kind = find_kind(text_field(event, {"kind"}));
  if (kind == nullptr || kind->namespaced) involved.set("namespace", name_space);
  Json source = Json::object();
  const std::string host = text_field(event, {"source"});
  source.set("component", host.empty() ? "berthd" : "berth-agent");
  if (!host.empty()) source.set("host", host);
  Json object = Json::object();
  object.set("apiVersion", "v1").set("kind", "Event");
  object.set("metadata", Json(Json::Object{{"namespace", Json(name_space)}}));
  object.set("involvedObject", std::move(involved)).set("source", std::move(source));
  for (const char* key : {"type", "reason", "message", "count"}) {
    if (const Json* value = event.find(key)) object.set(key, *value);
  }
  object.set("firstTimestamp", time_text(event, "firstTime"));
  return object.set("lastTimestamp", time_text(event, "time"));
}

Outcome<std::vector<Json>> fetch(ApiClient& client, const std::string& name_space) {
  std::vector<Json> events;
  std::string from;
  for (;;) {
    Json request = Json::object();
    request.set("op", "events").set("namespace", name_space);
    if (!from.empty()) request.set("continue", from);
    Outcome<Json> page = client.ask(std::move(request), true);
    if (!page) return std::unexpected(std::move(page.error()));
    for (const Json& item : list_field(*page, {"items"})) events.push_back(item);
    const std::string next = text_field(*page, {"continue"});
    if (next.empty()) return events;
    if (next <= from) return fail(Exit::refused, "invalid answer from the gateway: pages do not advance");
    from = next;
  }
}

void write_table(const std::vector<Cells>& rows, std::ostream& out) {
  TableWriter writer;
  for (const Cells& row : rows) writer.measure(row);
  for (const Cells& row : rows) out << writer.line(row);
}

}  // namespace

bool is_events(const std::string& kind) {
  const std::string name = lower(kind);
  return name == "events" || name == "event" || name == "ev";
}

// As apimachinery's duration.HumanDuration, which kubectl shows ages with.
std::string age_text(Millis age) {
  const Millis seconds = std::max<Millis>(age, 0) / 1000;
  const auto two = [](Millis first, const char* unit, Millis rest, const char* rest_unit) {
    return std::to_string(first) + unit + (rest > 0 ? std::to_string(rest) + rest_unit : "");
  };
  if (seconds < 120) return std::to_string(seconds) + "s";
  const Millis minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return std::to_string(minutes) + "m";
  const Millis hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return std::to_string(hours) + "h";
  return std::to_string(hours / 24) + "d";
}

Outcome<void> run_get_events(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  if (!options.name.empty()) {
    return fail(Exit::usage, "events have no names: use `berthctl describe` for those of one object");
  }
  if (options.watch) return fail(Exit::usage, "events cannot be watched: leave out --watch");
  const std::string name_space = options.all_namespaces ? std::string() : namespace_of(options);
  Outcome<std::vector<Json>> events = fetch(client, name_space);
  if (!events) return std::unexpected(std::move(events.error()));
  if (options.form == OutputForm::json || options.form == OutputForm::yaml) {
    Json::Array items;
    for (const Json& event : *events) items.push_back(event_object(event));
    Json list = Json::object();
    list.set("apiVersion", "v1").set("kind", "List").set("items", Json(std::move(items)));
    screen.out << document(options.form, list);
    return {};
  }
  if (events->empty()) {
    screen.err << "no events" << (name_space.empty() ? "" : " in namespace " + name_space) << "\n";
    return {};
  }
  const bool wide = options.form == OutputForm::wide;
  Cells header = {"LAST SEEN", "TYPE", "REASON", "OBJECT"};
  if (options.all_namespaces) header.insert(header.begin(), "NAMESPACE");
  if (wide) header.insert(header.end(), {"SOURCE", "FIRST SEEN", "COUNT"});
  header.emplace_back("MESSAGE");
  std::vector<Cells> rows = {std::move(header)};
  const Millis now = RealClock().wall();
  for (const Json& event : *events) {
    Cells row = {age_cell(event, "time", now), text_field(event, {"type"}), text_field(event, {"reason"}),
                 object_cell(event)};
    if (options.all_namespaces) row.insert(row.begin(), text_field(event, {"namespace"}));
    if (wide) {
      const std::string source = text_field(event, {"source"});
      row.insert(row.end(),
                 {source.empty() ? "berthd" : source, age_cell(event, "firstTime", now), text_field(event, {"count"})});
    }
    row.push_back(text_field(event, {"message"}));
    rows.push_back(std::move(row));
  }
  write_table(rows, screen.out);
  return {};
}

void write_events(const Json::Array& events, std::ostream& out) {
  if (events.empty()) return;
  out << "Events:\n";
  const Millis now = RealClock().wall();
  std::vector<Cells> rows = {{"  TYPE", "REASON", "AGE", "FROM", "MESSAGE"}};
  for (const Json& event : events) {
    const std::string source = text_field(event, {"source"});
    std::string age = age_cell(event, "time", now);
    if (const std::string count = text_field(event, {"count"}); count != "1" && !count.empty()) {
      const bool is_known = wall_at(event, "firstTime").has_value();
      age += " (x" + count + (is_known ? " over " + age_cell(event, "firstTime", now) : "") + ")";
    }
    rows.push_back({"  " + text_field(event, {"type"}), text_field(event, {"reason"}), age,
                    source.empty() ? "berthd" : "berth-agent, " + source, text_field(event, {"message"})});
  }
  write_table(rows, out);
}

}  // namespace berth
