// A transport that counts messages and their bytes on the wire (MQTT 5) by type of message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/handshake/topics.h"
#include "core/transport.h"

namespace berth::bench {

class CountedLink final : public Transport, private Transport::Handler {
 public:
  struct Count {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;  // including acknowledgements
  };

  explicit CountedLink(Transport& link) : link_(link) {}

  void set_handler(Transport::Handler* handler) override {
    handler_ = handler;
    link_.set_handler(handler == nullptr ? nullptr : this);
  }
  bool is_up() const override { return link_.is_up(); }
  void send(const Message& message) override {
    note("to", message);
    link_.send(message);
  }
  std::size_t send_window() const override { return link_.send_window(); }
  void gather(bool on) override { link_.gather(on); }
  void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) override {
    link_.subscribe(filter, qos, options);
  }

  // By direction and type: "to status", "from PreBound", ...
  const std::map<std::string, Count>& counts() const { return counts_; }
  void forget() { counts_.clear(); }

 private:
  void on_message(const Message& message) override {
    note("from", message);
    handler_->on_message(message);
  }
  void on_link(bool up) override { handler_->on_link(up); }
  void on_send_window() override { handler_->on_send_window(); }

  void note(const char* direction, const Message& message) {
    std::size_t properties = message.expiry_s > 0 ? 5 : 0;
    for (const std::string* text : {&message.response_topic, &message.correlation}) {
      if (!text->empty()) properties += 3 + text->size();
    }
    const std::size_t rest =
        2 + message.topic.size() + (message.qos > 0 ? 2 : 0) + 1 + properties + message.payload.size();
    Count& count = counts_[std::string(direction) + " " + cause_of(message)];
    ++count.messages;
    count.bytes += 1 + (rest < 128 ? 1u : rest < 16'384 ? 2u : 3u) + rest + (message.qos > 0 ? 4 : 0);
  }
  std::string cause_of(const Message& message) const {
    const auto levels = topics_.split(message.topic);
    if (levels.empty()) return message.topic;
    if (levels.size() > 2 && (levels[2] == "requests" || levels[2] == "answers")) {
      for (const auto& [member, type] : {std::pair{R"("preBind":)", "PreBind"},
                                         {R"("bind":)", "Bind"},
                                         {R"("preBound":)", "PreBound"},
                                         {R"("bound":)", "Bound"}}) {  // via a name (N12)
        if (message.payload.find(member) != std::string::npos) return type;
      }
      const std::size_t at = message.payload.find(R"("type":")");
      if (at != std::string::npos) return message.payload.substr(at + 8, message.payload.find('"', at + 8) - at - 8);
    }
    return std::string(levels[0]);
  }

  Transport& link_;
  Transport::Handler* handler_ = nullptr;
  Topics topics_{"default"};
  std::map<std::string, Count> counts_;
};

}  // namespace berth::bench
