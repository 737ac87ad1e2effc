// Events: those of one object, and all of a namespace.
#include <charconv>

#include "core/gateway/api.h"
#include "core/gateway/api_reply.h"

namespace berth {

namespace {

constexpr std::size_t kDescribedBytes = 6 * 1024;  // beside an object, newest kept; an answer is at most 64 KiB

// Of an object without a namespace: "default", as Kubernetes does.
std::string namespace_of(const ObjectEvent& event) {
  return describe(event.kind).namespaced ? std::string(event.object.get().substr(0, event.object.get().find('/')))
                                         : std::string("default");
}

Json to_json(const EventRecord& record) {
  const ObjectEvent& event = record.event;
  const std::string_view object = event.object.get();
  const std::string_view name = describe(event.kind).namespaced ? object.substr(object.find('/') + 1) : object;
  Json json = Json::object();
  json.set("kind", describe(event.kind).name).set("namespace", namespace_of(event)).set("name", name);
  json.set("type", event.type.get()).set("reason", event.reason.get()).set("message", event.message);
  if (!event.source.empty()) json.set("source", event.source.get());
  json.set("firstTime", std::to_string(record.first)).set("time", std::to_string(record.last));
  return json.set("count", record.count);
}

}  // namespace

Json Api::events_of(Kind kind, const std::string& key) const {
  const std::vector<const EventRecord*> known = context_.events.of(kind, key);
  std::size_t bytes = 0;
  auto first = known.end();
  while (first != known.begin()) {
    const ObjectEvent& event = (*std::prev(first))->event;
    bytes += event.message.size() + event.reason.size() + 192;
    if (bytes > kDescribedBytes) break;
    --first;
  }
  Json events = Json::array();
  for (; first != known.end(); ++first) events.push_back(to_json(**first));
  return events;
}

// Pages of at most kApiPageBytes, oldest first; "continue" names the event with which the next begins. One that comes
// again meanwhile is the newest then, and may be in two pages.
Json Api::events(const Json& request) const {
  const std::string name_space = api_text(request, "namespace");
  const std::string said = api_text(request, "continue");
  std::uint64_t from = 0;
  std::from_chars(said.data(), said.data() + said.size(), from);
  Json reply = api_success();
  Json items = Json::array();
  std::size_t bytes = 0;
  for (const EventRecord* record : context_.events.all()) {
    if (record->order < from || (!name_space.empty() && namespace_of(record->event) != name_space)) continue;
    Json item = to_json(*record);
    bytes += item.dump().size() + 1;
    if (bytes > kApiPageBytes) {
      std::string next = std::to_string(record->order);
      reply.set("continue", std::string(20 - next.size(), '0') + next);  // compares as text too
      break;
    }
    items.push_back(std::move(item));
  }
  return reply.set("items", std::move(items));
}

}  // namespace berth
