// PodLocator: finds the device that has a pod, or one by the name of its node, past the gateway, through the broker
// alone: the retained messages there tell which one that is, whether it is connected, and which streams it serves.
#pragma once

#include <functional>
#include <string>

#include "core/handshake/topics.h"
#include "core/transport.h"
#include "firmware-host/ctl/api_client.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

class PodLocator {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // Once.
    virtual void on_located(const std::string& node, const std::string& uid) = 0;
    virtual void on_not_located(Failure failure) = 0;
  };
  // `pod`: "<namespace>/<name>". `stream`: what is to be opened, as a node's state names it. All must outlive it.
  PodLocator(const ApiClient::Engine& engine, const ApiClient::Address& address, std::string pod, std::string stream,
             Handler& handler);

  // At each connection until it is found.
  void begin();
  // The same where the node is known; of no pod, and so without a uid.
  void begin_at(const std::string& node);
  void on_message(const Message& message);
  bool is_done() const { return is_done_; }
  // Empty: not found yet.
  const std::string& node() const { return node_; }
  // Why there was no answer within the address's patience, of this or of the stream.
  Failure too_late() const;

 private:
  void locate(const Message& message);
  void subscribe_node();
  void on_node(const Message& message);
  void fail(Failure failure);
  Failure not_found() const;

  const ApiClient::Engine& engine_;
  const ApiClient::Address& address_;
  const Topics topics_;
  const std::string pod_;
  const std::string stream_;
  Handler& handler_;
  std::string node_;
  std::string uid_;
  bool is_of_node_ = false;
  bool is_done_ = false;
};

}  // namespace berth
