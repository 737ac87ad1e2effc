// Any sequence of messages, answers, lost connections, crashes and time, for a gateway. Lines:
//   m <topic below the root> <payload>   a message
//   r <topic below the root> <payload>   a retained message
//   a <node> <digit>                     the node answers its last request, with this type of answer
//   t <ms>                               time passes
//   l                                    the connection is lost and re-established
//   c                                    crash and restart
//   f                                    the store becomes full, or has space again
// In every case no turn may fail, and the store must be readable at the next start.
#include <memory>

#include "core/check.h"
#include "core/gateway/gateway.h"
#include "core/handshake/messages.h"
#include "plugins/registry.h"
#include "storage/memory_store.h"
#include "tests/fuzz/environment.h"
#include "tests/one_message.h"

namespace berth::fuzz {
namespace {

class GatewayRun {
 public:
  GatewayRun() {
    options_.fleet = "f";
    options_.profiles.push_back(default_profile());
    start();
  }

  void line(std::string_view line) {
    const std::string_view what = take(line, ' ');
    if (what == "m" || what == "r") {
      const std::string_view topic = take(line, ' ');
      receive(topics_.root() + std::string(topic), std::string(line), what == "r");
    } else if (what == "a") {
      const std::string node(take(line, ' '));
      answer(node, line.empty() ? 0 : line[0] - '0');
    } else if (what == "t") {
      advance(clock_, timers_, millis_of(line), [this] { turn(); });
    } else if (what == "l") {
      lose_link();
    } else if (what == "c") {
      restart();
    } else if (what == "f") {
      store_.set_full(full_ = !full_);
    }
  }

  void restart() {
    gateway_.reset();
    store_.crash();
    transport_.up = false;
    start();
  }

 private:
  void start() {
    gateway_ = std::make_unique<Gateway>(options_, registry_, clock_, transport_, store_, timers_, log_);
    CHECK(gateway_->start().is_success());
    turn();
    connect();
  }
  void turn() { CHECK(gateway_->finish_turn().is_success()); }
  void connect() {
    transport_.up = true;
    transport_.sent.clear();
    gateway_->on_link(true);
    turn();
    const std::vector<Message> sent = transport_.sent;
    for (const Message& message : sent) {
      if (message.topic == topics_.gateway_fence("gateway")) gateway_->on_message(message);
    }
    turn();
  }
  void lose_link() {
    transport_.up = false;
    gateway_->on_link(false);
    turn();
    connect();
  }
  void receive(std::string topic, std::string payload, bool retain) {
    Message message;
    message.topic = std::move(topic);
    message.payload = std::move(payload);
    message.retain = retain;
    message.response_topic = topics_.client("op");
    gateway_->on_message(message);
    turn();
  }
  void answer(const std::string& node, int type) {
    for (auto it = transport_.sent.rbegin(); it != transport_.sent.rend(); ++it) {
      if (it->topic != topics_.node_requests(node)) continue;
      const Result<Request> request = decode_request(it->payload);
      CHECK(request.has_value());
      if ((request->type == RequestType::list) != (type == 7)) continue;
      Answer answer(static_cast<AnswerType>(std::clamp(type, 0, 7)));
      answer.incarnation = request->incarnation.empty() ? "i1" : request->incarnation;
      answer.gateway_id = request->gateway_id;
      answer.uid = request->uid;
      answer.epoch = answer.high = request->epoch;
      answer.to_incarnation = request->incarnation;
      answer.reason = "no";
      answer.list_id = request->list_id;
      answer.pages = 1;
      return receive(topics_.answers("gateway", node), encode(answer), false);
    }
  }
  GatewayOptions options_;
  Registry registry_ = in_tree_registry();
  Topics topics_{"f"};
  HandClock clock_;
  NullLog log_;
  RecordingTransport transport_;
  MemoryStore store_;
  Timers timers_;
  std::unique_ptr<Gateway> gateway_;
  bool full_ = false;
};

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  berth::fuzz::GatewayRun run;
  for (std::size_t lines = 0; lines < berth::fuzz::kLinesMax && !text.empty(); ++lines) {
    run.line(berth::fuzz::take(text, '\n'));
  }
  run.restart();
  return 0;
}
