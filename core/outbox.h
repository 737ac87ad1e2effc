// Outbox: what is said under one topic in one turn leaves together, in as few messages as its form allows: on the radio
// a topic, its headers and what all of it shares cost as much as the rest.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/transport.h"
#include "core/turn.h"

namespace berth {

template <class T>
class Outbox {
 public:
  using Encode = std::function<std::vector<std::string>(const std::vector<T>&)>;
  using Wanted = std::function<bool()>;

  // `encode` gives the payloads, each small enough for a message.
  Outbox(Turn& turn, Encode encode) : turn_(turn), encode_(std::move(encode)) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Leaves after this turn's commit, in a message like `envelope`, if `wanted` still says so then: what follows in the
  // same turn may have made it wrong.
  void send(Message envelope, T said, Wanted wanted = {}) {
    if (letters_.empty()) turn_.after_commit([this] { post(); });
    Letter& letter = letters_[envelope.topic];
    letter.envelope = std::move(envelope);
    letter.all.emplace_back(std::move(said), std::move(wanted));
  }

 private:
  struct Letter {
    Message envelope;
    std::vector<std::pair<T, Wanted>> all;
  };

  void post() {
    for (auto& [topic, letter] : std::exchange(letters_, {})) {
      std::vector<T> wanted;
      for (auto& [said, still_wanted] : letter.all) {
        if (!still_wanted || still_wanted()) wanted.push_back(std::move(said));
      }
      for (std::string& payload : encode_(wanted)) {
        letter.envelope.payload = std::move(payload);
        turn_.send(letter.envelope);
      }
    }
  }

  Turn& turn_;
  Encode encode_;
  std::map<std::string, Letter> letters_;  // by topic
};

}  // namespace berth
