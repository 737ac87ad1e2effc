#include "core/streams/stream_query.h"

#include <utility>

namespace berth {

namespace {

constexpr std::size_t kArgumentsMax = 256;  // of a command; all of them fit into a frame anyway

Json named(const std::string& uid, const std::string& pod, const std::string& container) {
  Json json = Json::object();
  json.set("uid", uid);
  if (!pod.empty()) json.set("pod", pod);
  if (!container.empty()) json.set("container", container);
  return json;
}

Json to_json(const LogQuery& query) {
  Json json = named(query.uid, query.pod, query.container);
  if (query.follow) json.set("follow", true);
  if (query.previous) json.set("previous", true);
  if (query.tail) json.set("tail", std::to_string(*query.tail));
  if (query.since_ms) json.set("sinceMs", std::to_string(*query.since_ms));
  if (!query.from.empty()) json.set("from", query.from);
  return json;
}

Json to_json(const ExecQuery& query) {
  Json json = named(query.uid, query.pod, query.container);
  Json command = Json::array();
  for (const std::string& argument : query.command) command.push_back(argument);
  json.set("command", std::move(command));
  if (query.input) json.set("stdin", true);
  if (query.terminal) json.set("tty", true);
  if (query.size.rows > 0) json.set("rows", std::int64_t{query.size.rows});
  if (query.size.columns > 0) json.set("columns", std::int64_t{query.size.columns});
  return json;
}

Json to_json(const ForwardQuery& query) {
  return std::move(named(query.uid, query.pod, {}).set("port", std::int64_t{query.port}));
}

Json to_json(const LoadQuery& query) {
  Json json = Json::object();
  if (!query.name.empty()) json.set("name", query.name);
  if (query.bytes) json.set("bytes", std::to_string(*query.bytes));
  return json;
}

LogQuery read_logs(Fields& fields) {
  LogQuery query;
  query.uid = fields.id("uid");
  query.pod = read_short(fields, "pod");
  query.container = read_short(fields, "container");
  query.follow = read_flag(fields, "follow");
  query.previous = read_flag(fields, "previous");
  if (fields.has("tail")) query.tail = fields.u64("tail");
  if (fields.has("sinceMs")) query.since_ms = fields.millis("sinceMs");
  query.from = read_short(fields, "from");
  return query;
}

ExecQuery read_exec(Fields& fields) {
  ExecQuery query;
  query.uid = fields.id("uid");
  query.pod = read_short(fields, "pod");
  query.container = read_short(fields, "container");
  for (const Json& argument : fields.array("command")) {
    if (!argument.is_string()) {
      fields.fail("command", "must be a list of texts");
      return query;
    }
    query.command.push_back(argument.as_string());
  }
  if (query.command.empty() || query.command.front().empty()) fields.fail("command", "must name a program");
  if (query.command.size() > kArgumentsMax) {
    fields.fail("command", "must have at most " + std::to_string(kArgumentsMax) + " texts");
  }
  query.input = read_flag(fields, "stdin");
  query.terminal = read_flag(fields, "tty");
  query.size = {read_small(fields, "rows"), read_small(fields, "columns")};
  return query;
}

ForwardQuery read_forward(Fields& fields) {
  ForwardQuery query;
  query.uid = fields.id("uid");
  query.pod = read_short(fields, "pod");
  query.port = read_small(fields, "port");
  if (query.port == 0) fields.fail("port", "must be from 1 to 65535");
  return query;
}

LoadQuery read_load(Fields& fields) {
  LoadQuery query;
  query.name = read_short(fields, "name");
  if (fields.has("bytes")) query.bytes = fields.u64("bytes");
  return query;
}

template <class Read>
StreamQuery read_within(Fields& fields, const Json& json, const std::string& name, Read read) {
  Fields inner(json, name + ".");
  StreamQuery query = read(inner);
  fields.merge(inner);
  return query;
}

}  // namespace

void add_query(const StreamQuery& query, Json& frame) {
  if (const auto* logs = std::get_if<LogQuery>(&query)) {
    frame.set("logs", to_json(*logs));
  } else if (const auto* exec = std::get_if<ExecQuery>(&query)) {
    frame.set("exec", to_json(*exec));
  } else if (const auto* forward = std::get_if<ForwardQuery>(&query)) {
    frame.set("forward", to_json(*forward));
  } else if (const auto* load = std::get_if<LoadQuery>(&query)) {
    frame.set("load", to_json(*load));
  } else {
    frame.set("usage", Json::object());
  }
}

StreamQuery read_query(Fields& fields) {
  if (const Json* logs = fields.find("logs")) return read_within(fields, *logs, "logs", read_logs);
  if (const Json* exec = fields.find("exec")) return read_within(fields, *exec, "exec", read_exec);
  if (const Json* forward = fields.find("forward")) return read_within(fields, *forward, "forward", read_forward);
  if (const Json* load = fields.find("load")) return read_within(fields, *load, "load", read_load);
  if (fields.find("usage") == nullptr) {
    fields.fail("open", "must have logs, exec, forward, load or usage: others are unknown");
  }
  return UsageQuery{};
}

std::string read_short(Fields& fields, std::string_view key) {
  if (!fields.has(key)) return {};
  std::string text = fields.text(key);
  if (text.size() > kStreamTextBytes) {
    fields.fail(key, "must have at most " + std::to_string(kStreamTextBytes) + " bytes");
  }
  return text;
}

bool read_flag(Fields& fields, std::string_view key) {
  const Json* value = fields.find(key);
  if (value == nullptr) return false;
  if (!value->is_bool()) fields.fail(key, "must be true or false");
  return value->is_bool() && value->as_bool();
}

int read_small(Fields& fields, std::string_view key) {
  const Json* value = fields.find(key);
  if (value == nullptr) return 0;
  if (!value->is_integer() || value->as_int() < 0 || value->as_int() > 65535) {
    fields.fail(key, "must be an integer from 0 to 65535");
    return 0;
  }
  return static_cast<int>(value->as_int());
}

}  // namespace berth
