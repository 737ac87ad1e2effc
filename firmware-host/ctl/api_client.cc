#include "firmware-host/ctl/api_client.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/api/config_objects.h"
#include "core/json/utf8.h"
#include "firmware-host/ctl/fields.h"

namespace berth {

namespace {

// An answer is one page (48 KiB) or one object; with its status either may slightly exceed 64 KiB.
constexpr Json::Limits kAnswerLimits{.bytes = 1024 * 1024, .depth = 80};
constexpr Json::Limits kLargeLimits{.bytes = 2 * kConfigTextMax, .depth = 80};
constexpr std::size_t kWholeObjectBytes = 60 * 1024;  // a request is one message of at most 64 KiB
constexpr std::size_t kUploadPieceBytes = 28 * 1024;  // as a JSON string inside a request it may double

bool is_silence(const Failure& failure) { return failure.exit == Exit::no_answer || failure.exit == Exit::unreachable; }

bool is_not_found(const Failure& failure) {
  return failure.exit == Exit::refused && failure.text.ends_with(" not found");
}

Json deleted_with(std::string_view result) { return Json(Json::Object{{"ok", Json(true)}, {"result", Json(result)}}); }

}  // namespace

ApiClient::ApiClient(Engine engine, Address address)
    : engine_(std::move(engine)), address_(std::move(address)), topics_(address_.fleet) {
  reply_topic_ = topics_.root() + "clients/" + address_.identity + "/" + address_.session;
  engine_.transport.set_handler(this);
  if (engine_.transport.is_up()) on_link(true);
}

ApiClient::~ApiClient() {
  engine_.timers.cancel(resend_);
  engine_.transport.set_handler(nullptr);
}

Outcome<Json> ApiClient::ask(Json request, bool idempotent) {
  return ask_within(std::move(request), idempotent, address_.timeout_ms);
}

Outcome<Json> ApiClient::ask_within(Json request, bool idempotent, Millis patience) {
  const std::string id = address_.session + "-" + std::to_string(++count_);
  request.set("id", id);
  request_ = Message{};
  request_.topic = topics_.gateway_api(address_.gateway);
  request_.payload = request.dump();
  request_.response_topic = reply_topic_;
  request_.correlation = id;
  request_.expiry_s = static_cast<int>(address_.timeout_ms / 1000) + 1;
  idempotent_ = idempotent;
  sends_ = 0;
  answered_ = late_ = false;
  Timers::Id deadline = engine_.timers.at(engine_.clock.now() + patience, [this] {
    late_ = true;
    engine_.stop();
  });
  if (engine_.transport.is_up()) send_request();
  engine_.run();
  engine_.timers.cancel(deadline);
  engine_.timers.cancel(resend_);
  request_ = Message{};
  if (!answered_) return std::unexpected(why_no_answer());

  Result<Json> answer = Json::parse(answer_, kAnswerLimits);
  if (!answer) return fail(Exit::refused, "invalid answer from the gateway: " + answer.error().message());
  const Json* is_ok = answer->find("ok");
  if (is_ok != nullptr && *is_ok == Json(true)) return std::move(*answer);
  const Json* error = answer->find("error");
  return fail(Exit::refused, error != nullptr && error->is_string() ? error->as_string() : "refused without a reason");
}

Failure ApiClient::why_no_answer() const {
  if (!late_) return {Exit::interrupted, "interrupted"};
  const std::string seconds = std::to_string((address_.timeout_ms + 999) / 1000) + " s";
  if (!engine_.transport.is_up()) {
    const std::string why = engine_.why_down();
    return {Exit::unreachable, "no connection to the broker at " + address_.broker + " within " + seconds +
                                   (why.empty() ? "" : ": " + why)};
  }
  return {Exit::no_answer, "gateway \"" + address_.gateway + "\" of fleet \"" + address_.fleet +
                               "\" did not answer within " + seconds +
                               "; is berthd running, and are --gateway, --fleet and --identity correct?" +
                               (idempotent_ ? "" : " It is not known whether it was done: look before you repeat it")};
}

void ApiClient::send_request() {
  ++sends_;
  engine_.transport.send(request_);
  if (idempotent_) resend_later();
}

void ApiClient::resend_later() {
  engine_.timers.cancel(resend_);
  resend_ = engine_.timers.at(engine_.clock.now() + kResendMs, [this] {
    if (request_.topic.empty()) return;
    if (engine_.transport.is_up()) return send_request();
    resend_later();
  });
}

Outcome<Json> ApiClient::remove(const KindName& kind, const std::string& name_space, const std::string& name,
                                const std::string& propagation) {
  Json request = Json::object();
  request.set("op", "delete").set("kind", kind.name).set("namespace", name_space).set("name", name);
  if (!propagation.empty()) request.set("propagation", propagation);
  const bool is_pod = kind.kind == Kind::pod;
  const Outcome<Json> before = get(kind, name_space, name);
  if (!before && before.error().exit != Exit::refused) return before;
  const std::string uid = before ? text_field(*before, {"metadata", "uid"}) : std::string();
  // The gateway says what is wrong. And of a pod that is being deleted its successor may be meant, which is not seen.
  if (uid.empty() || (is_pod && true_field(*before, {"status", "deleting"}))) return ask(std::move(request), false);
  if (!is_pod) request.set("uid", uid);  // of a pod, its successor and orphans of its name are meant too
  const Millis end = engine_.clock.now() + address_.timeout_ms;
  for (;;) {
    Outcome<Json> answer = ask_within(request, false, std::min(kResendMs, address_.timeout_ms));
    if (answer || !is_silence(answer.error()) || engine_.clock.now() >= end) return answer;
    const Outcome<Json> seen = get(kind, name_space, name);
    if (!seen && !is_not_found(seen.error())) return seen;
    if (!seen || text_field(*seen, {"metadata", "uid"}) != uid) return deleted_with("deleted");
    if (is_pod && true_field(*seen, {"status", "deleting"})) return deleted_with("deleting");
  }
}

// Sent again, a part is taken once; and the last one is answered as the first time.
Outcome<Json> ApiClient::apply(Json request, Json object, bool idempotent) {
  request.set("op", "apply");
  const std::string text = object.dump();
  if (text.size() <= kWholeObjectBytes) return ask(std::move(request.set("object", std::move(object))), idempotent);
  const std::vector<std::string_view> pieces = pieces_of(text, kUploadPieceBytes);
  const std::string id = address_.session + "-upload-" + std::to_string(count_);
  for (std::size_t i = 0;; ++i) {
    Json upload = Json::object();
    upload.set("id", id).set("part", static_cast<std::int64_t>(i)).set("text", pieces[i]);
    Json part = request;
    part.set("upload", std::move(upload.set("parts", static_cast<std::int64_t>(pieces.size()))));
    Outcome<Json> answer = ask(std::move(part), true);
    if (!answer || i + 1 == pieces.size()) return answer;
  }
}

Outcome<Json> ApiClient::get(const KindName& kind, const std::string& name_space, const std::string& name,
                             Values values) {
  Json request = Json::object();
  request.set("op", "get").set("kind", kind.name).set("namespace", name_space).set("name", name);
  if (values == Values::whole) request.set("values", true);
  Outcome<Json> answer = ask(request, true);
  if (!answer) return answer;
  Json* object = answer->find("object");
  if (object == nullptr) return fail(Exit::refused, "invalid answer from the gateway: missing object");
  if (values == Values::whole && is_config(kind.kind) && object->find("omitted") != nullptr) {
    return get_in_parts(request);
  }
  return std::move(*object);
}

// Begins again when the object changes in between.
Outcome<Json> ApiClient::get_in_parts(const Json& request) {
  std::string text, whole;
  std::int64_t part = 0;
  for (;;) {
    Json asked = request;
    Outcome<Json> answer = ask(std::move(asked.set("part", part)), true);
    if (!answer) return answer;
    const std::string now = text_field(*answer, {"whole"});
    if (part > 0 && now != whole) {
      part = 0;
      text.clear();
      continue;
    }
    whole = now;
    text += text_field(*answer, {"text"});
    const Json* parts = answer->find("parts");
    if (parts == nullptr || !parts->is_integer()) return fail(Exit::refused, "invalid answer from the gateway: parts");
    if (++part < parts->as_int()) continue;
    Result<Json> object = Json::parse(text, kLargeLimits);
    if (object) return std::move(*object);
    return fail(Exit::refused, "invalid answer from the gateway: " + object.error().message());
  }
}

Outcome<std::vector<Json>> ApiClient::list(const KindName& kind, const std::string& name_space, Values values) {
  std::vector<Json> objects;
  std::string from;
  for (;;) {
    Json request = Json::object();
    request.set("op", "get").set("kind", kind.name).set("namespace", name_space);
    if (!from.empty()) request.set("continue", from);
    if (values == Values::whole) request.set("values", true);
    Outcome<Json> page = ask(std::move(request), true);
    if (!page) return std::unexpected(std::move(page.error()));
    if (Json* items = page->find("items"); items != nullptr && items->is_array()) {
      for (Json& item : items->as_array()) {
        const bool is_cut = values == Values::whole && is_config(kind.kind) && item.find("omitted") != nullptr;
        if (is_cut) {
          Outcome<Json> object =
              get(kind, text_field(item, {"metadata", "namespace"}), text_field(item, {"metadata", "name"}), values);
          if (!object) return std::unexpected(std::move(object.error()));
          item = std::move(*object);
        }
        objects.push_back(std::move(item));
      }
    }
    const Json* next = page->find("continue");
    if (next == nullptr || !next->is_string() || next->as_string().empty()) return objects;
    if (next->as_string() <= from) return fail(Exit::refused, "invalid answer from the gateway: pages do not advance");
    from = next->as_string();
  }
}

void ApiClient::watch(Kind kind) {
  watched_ = describe(kind).plural;
  if (engine_.transport.is_up()) engine_.transport.subscribe(topics_.root() + "status/" + watched_ + "/#", 1);
}

Outcome<ApiClient::Changes> ApiClient::next_changes(const std::optional<Millis>& at_most) {
  late_ = false;
  Timers::Id deadline = 0;
  if (at_most) {
    deadline = engine_.timers.at(engine_.clock.now() + *at_most, [this] {
      late_ = true;
      engine_.stop();
    });
  }
  if (!changes_.all && changes_.list.empty()) engine_.run();
  engine_.timers.cancel(deadline);
  if (!late_ && !changes_.all && changes_.list.empty()) return fail(Exit::interrupted, "interrupted");
  return std::exchange(changes_, Changes{});
}

void ApiClient::on_message(const Message& message) {
  if (message.topic == reply_topic_) {
    if (request_.topic.empty() || message.correlation != request_.correlation) return;
    answer_ = message.payload;
    answered_ = true;
    return engine_.stop();
  }
  // Retained messages are older than the listing at the start of the watch.
  if (message.retain) return;
  const std::vector<std::string_view> levels = topics_.split(message.topic);
  if (levels.size() < 3 || levels[0] != "status" || levels[1] != watched_) return;
  std::string key(levels[2]);
  for (std::size_t i = 3; i < levels.size(); ++i) key.append("/").append(levels[i]);
  changes_.list.push_back({std::move(key), message.payload});
  // During a request only its answer ends the wait; the change is kept.
  if (request_.topic.empty()) engine_.stop();
}

void ApiClient::on_link(bool up) {
  if (!up) return;
  engine_.transport.subscribe(reply_topic_, 1);
  if (!watched_.empty()) {
    engine_.transport.subscribe(topics_.root() + "status/" + watched_ + "/#", 1);
    if (was_up_) changes_.all = true;
  }
  was_up_ = true;
  if (!request_.topic.empty()) {
    if (idempotent_ || sends_ == 0) send_request();
  } else if (changes_.all) {
    engine_.stop();
  }
}

}  // namespace berth
