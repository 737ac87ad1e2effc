#include "core/streams/frame.h"

#include <array>
#include <utility>

#include "core/handshake/fields.h"
#include "core/json/json.h"

namespace berth {

namespace {

using Type = StreamFrame::Type;

constexpr std::size_t kContainersMax = 128;  // that are told

constexpr std::array<std::pair<Type, std::string_view>, 8> kTypes{{{Type::open, "open"},
                                                                   {Type::credit, "credit"},
                                                                   {Type::resize, "resize"},
                                                                   {Type::close, "close"},
                                                                   {Type::opened, "opened"},
                                                                   {Type::data, "data"},
                                                                   {Type::alive, "alive"},
                                                                   {Type::end, "end"}}};
constexpr std::array<std::pair<StreamEnd, std::string_view>, 6> kEnds{{{StreamEnd::done, "Done"},
                                                                       {StreamEnd::refused, "Refused"},
                                                                       {StreamEnd::busy, "Busy"},
                                                                       {StreamEnd::unknown, "Unknown"},
                                                                       {StreamEnd::failed, "Failed"},
                                                                       {StreamEnd::occupied, "Occupied"}}};

template <class T, std::size_t N>
std::string_view name_in(const std::array<std::pair<T, std::string_view>, N>& names, T wanted) {
  for (const auto& [value, name] : names) {
    if (value == wanted) return name;
  }
  return {};
}

template <class T, std::size_t N>
T read_name(Fields& fields, std::string_view key, const std::array<std::pair<T, std::string_view>, N>& names) {
  const std::string text = fields.text(key);
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  fields.fail(key, "unknown: " + text.substr(0, 32));
  return names.front().first;
}

void read_opened(Fields& fields, StreamFrame& frame) {
  frame.container = read_short(fields, "container");
  if (fields.has("run")) frame.run = fields.u64("run");
  if (fields.has("input")) frame.input = fields.u64("input");
  if (!fields.has("containers")) return;
  for (const Json& name : fields.array("containers")) {
    if (name.is_string() && frame.containers.size() < kContainersMax) frame.containers.push_back(name.as_string());
  }
}

void read_data(Fields& fields, StreamFrame& frame) {
  frame.count = fields.u64("offset");
  frame.position = read_short(fields, "position");
  frame.errors = read_flag(fields, "errors");
  frame.last = read_flag(fields, "last");
}

void read_end(Fields& fields, StreamFrame& frame) {
  frame.count = fields.u64("offset");
  frame.why = read_name(fields, "why", kEnds);
  frame.reason = read_short(fields, "reason");
  if (fields.has("exitCode")) frame.exit_code = read_small(fields, "exitCode");
}

void read_members(Fields& fields, StreamFrame& frame) {
  switch (frame.type) {
    case Type::open:
      frame.query = read_query(fields);
      frame.count = fields.u64("limit");
      break;
    case Type::credit:
      frame.count = fields.u64("limit");
      if (fields.has("input")) frame.input = fields.u64("input");
      break;
    case Type::resize: frame.size = {read_small(fields, "rows"), read_small(fields, "columns")}; break;
    case Type::close: break;
    case Type::opened: read_opened(fields, frame); break;
    case Type::data: read_data(fields, frame); break;
    case Type::alive:
      frame.count = fields.u64("offset");
      if (fields.has("input")) frame.input = fields.u64("input");
      break;
    case Type::end: read_end(fields, frame); break;
  }
}

void add_opened(const StreamFrame& frame, Json& json) {
  Json names = Json::array();
  for (const std::string& name : frame.containers) {
    if (names.as_array().size() < kContainersMax) names.push_back(name);
  }
  if (!frame.container.empty()) json.set("container", frame.container);
  json.set("containers", std::move(names));
  if (frame.run > 0) json.set("run", std::to_string(frame.run));
}

void add_data(const StreamFrame& frame, Json& json) {
  json.set("offset", std::to_string(frame.count));
  if (!frame.position.empty()) json.set("position", frame.position);
  if (frame.errors) json.set("errors", true);
  if (frame.last) json.set("last", true);
}

void add_end(const StreamFrame& frame, Json& json) {
  json.set("offset", std::to_string(frame.count)).set("why", name_in(kEnds, frame.why));
  if (!frame.reason.empty()) json.set("reason", frame.reason.substr(0, kStreamTextBytes));
  if (frame.exit_code) json.set("exitCode", std::int64_t{*frame.exit_code});
}

}  // namespace

std::string encode(const StreamFrame& frame) {
  Json json = Json::object();
  json.set("type", name_in(kTypes, frame.type));
  if (!frame.id.empty()) json.set("id", frame.id);
  switch (frame.type) {
    case Type::open:
      add_query(frame.query, json);
      json.set("limit", std::to_string(frame.count));
      break;
    case Type::credit: json.set("limit", std::to_string(frame.count)); break;
    case Type::resize:
      json.set("rows", std::int64_t{frame.size.rows}).set("columns", std::int64_t{frame.size.columns});
      break;
    case Type::close: break;
    case Type::opened: add_opened(frame, json); break;
    case Type::data: add_data(frame, json); break;
    case Type::alive: json.set("offset", std::to_string(frame.count)); break;
    case Type::end: add_end(frame, json); break;
  }
  if (frame.input > 0) json.set("input", std::to_string(frame.input));
  std::string text = json.dump();
  if (frame.type == Type::data) text.append("\n").append(frame.bytes);
  return text;
}

Result<StreamFrame> decode_stream_frame(std::string_view payload) {
  if (payload.size() > kStreamFrameBytes) {
    return Status::error("frame: must have at most " + std::to_string(kStreamFrameBytes) + " bytes");
  }
  const std::size_t line = payload.find('\n');
  const Result<Json> json = Json::parse(payload.substr(0, line));
  if (!json) return Status::error("frame: " + json.error().message());
  Fields fields(*json);
  StreamFrame frame;
  frame.type = read_name(fields, "type", kTypes);
  if (fields.has("id")) frame.id = fields.id("id");
  read_members(fields, frame);
  if (!fields.ok()) return fields.status();
  if (frame.type == Type::data && line != std::string_view::npos) frame.bytes = payload.substr(line + 1);
  return frame;
}

}  // namespace berth
