// Outbox: batches what one turn sends to one topic into as few messages as the encoding allows: on a radio link the
// topic, the headers and the members that all items share cost as much as the rest.
#pragma once

#include <algorithm>
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
  using Condition = std::function<bool()>;

  // `encode` returns the payloads, each small enough for one message.
  Outbox(Turn& turn, Encode encode) : turn_(turn), encode_(std::move(encode)) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Sent after this turn's commit, in a message with the topic and options of `envelope` and the highest QoS and expiry
  // of all of its items, unless `still_valid` returns false by then: the rest of the turn may have made the item
  // obsolete.
  void send(Message envelope, T item, Condition still_valid = {}) {
    if (batches_.empty()) turn_.after_commit([this] { flush(); });
    Batch& batch = batches_[envelope.topic];
    if (!batch.items.empty()) {
      envelope.qos = std::max(envelope.qos, batch.envelope.qos);
      envelope.expiry_s = std::max(envelope.expiry_s, batch.envelope.expiry_s);
    }
    batch.envelope = std::move(envelope);
    batch.items.emplace_back(std::move(item), std::move(still_valid));
  }

 private:
  struct Batch {
    Message envelope;
    std::vector<std::pair<T, Condition>> items;
  };

  void flush() {
    for (auto& [topic, batch] : std::exchange(batches_, {})) {
      std::vector<T> items;
      for (auto& [item, still_valid] : batch.items) {
        if (!still_valid || still_valid()) items.push_back(std::move(item));
      }
      for (std::string& payload : encode_(items)) {
        batch.envelope.payload = std::move(payload);
        turn_.send(batch.envelope);
      }
    }
  }

  Turn& turn_;
  Encode encode_;
  std::map<std::string, Batch> batches_;  // by topic
};

}  // namespace berth
