// AgentHandshake: an agent that has booted, and what it is asked and answers.
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/agent/fakes.h"

namespace berth {

class AgentHandshake : public AgentTest {
 protected:
  void SetUp() override {
    boot();
    transport.sent.clear();
  }

  // What it answers to, as it says with a listing.
  std::string listed_name() {
    Request list(RequestType::list);
    list.gateway = "gw";
    list.gateway_id = {2, "store"};
    list.list_id = 7;
    deliver(list);
    const std::vector<Answer> answers = take_answers();
    return answers.empty() ? "" : answers.front().answers_to;
  }
  // What it has answered since, up to the member `at`.
  Texts take_texts_via(const std::string& name) {
    Texts texts;
    for (const Message& message : std::exchange(transport.sent, {})) {
      if (message.topic != kAnswers) continue;
      texts.push_back(message.payload.substr(0, message.payload.find(R"(,"at")")));
      if (const std::size_t at = texts.back().find(name); at != std::string::npos) {
        texts.back().replace(at, name.size(), "NAME");
      }
    }
    return texts;
  }
  bool deliver_to_failing_store(RequestType type) {
    Message message;
    message.topic = kRequests;
    message.payload = encode(request_of(type));
    agent->on_message(message);
    return agent->finish_turn().is_success();
  }
};

}  // namespace berth
