// Splits lists of messages, for tests that handle one message at a time.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/handshake/messages.h"
#include "core/json/json.h"
#include "core/transport.h"

namespace berth {

template <class T>
Result<T> only_one(std::vector<Result<T>> messages) {
  if (messages.size() != 1) return Status::error("expected one message, got " + std::to_string(messages.size()));
  return std::move(messages.front());
}

inline Result<Request> decode_request(std::string_view payload) { return only_one(decode_requests(payload)); }
inline Result<Answer> decode_answer(std::string_view payload, std::string_view node) {
  return only_one(decode_answers(payload, node));
}

// The items of a list of events, each completed with the members that the list shares.
inline std::vector<std::string> taken_apart_events(std::string_view payload) {
  const Json list = *Json::parse(payload);
  const Json* items = list.find("items");
  if (items == nullptr) return {std::string(payload)};
  std::vector<std::string> apart;
  for (const Json& item : items->as_array()) {
    Json whole = item;
    for (const auto& [key, value] : list.as_object()) {
      if (key != "items" && item.find(key) == nullptr) whole.set(key, value);
    }
    apart.push_back(whole.dump());
  }
  return apart;
}

// The sent message, with lists split into single messages.
inline std::vector<Message> taken_apart(const Message& sent) {
  std::vector<Message> apart;
  const auto add = [&](const auto& list) {
    for (const auto& each : list) {
      apart.push_back(sent);
      if (list.size() > 1 && each) apart.back().payload = encode(*each);
    }
  };
  if (sent.topic.ends_with("/requests")) {
    add(decode_requests(sent.payload));
  } else if (sent.topic.find("/answers/") != std::string::npos) {
    add(decode_answers(sent.payload, "n1"));
  } else if (sent.topic.find("/events/") != std::string::npos) {
    for (std::string& payload : taken_apart_events(sent.payload)) {
      apart.push_back(sent);
      apart.back().payload = std::move(payload);
    }
  } else {
    apart.push_back(sent);
  }
  return apart;
}

}  // namespace berth
