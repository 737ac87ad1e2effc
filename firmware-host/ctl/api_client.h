// ApiClient: sends requests to the gateway and waits for its answers (transports/README.md, Clients). One request at a
// time: the program has nothing else to do while it waits, so each call runs the event loop until the answer, the
// deadline or a signal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/api/kind.h"
#include "core/clock.h"
#include "core/handshake/topics.h"
#include "core/json/json.h"
#include "core/timers.h"
#include "core/transport.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

class ApiClient final : public Transport::Handler {
 public:
  // What the client runs on. All must outlive it. run() returns after stop() or a signal.
  struct Engine {
    Transport& transport;
    const Clock& clock;
    Timers& timers;
    std::function<void()> run;
    std::function<void()> stop;
    std::function<std::string()> why_down;  // last error of the transport if the link is down; may be empty
  };
  struct Address {
    std::string fleet;
    std::string gateway;
    std::string identity;  // answers are sent below clients/<identity>/
    std::string session;   // a topic level that no other client uses at the same time
    std::string broker;    // for error messages only
    Millis timeout_ms = 10'000;
  };

  ApiClient(Engine engine, Address address);
  ~ApiClient() override;
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // Sends one request and returns the answer, a JSON object whose "ok" is true; an answer with "ok" false is
  // Exit::refused with its error. `idempotent`: the request may arrive twice, so it is resent every kResendMs until it
  // is answered.
  Outcome<Json> ask(Json request, bool idempotent);

  // One object with its status.
  Outcome<Json> get(const KindName& kind, const std::string& name_space, const std::string& name);
  // All objects of a kind, page by page. An empty namespace: all namespaces.
  Outcome<std::vector<Json>> list(const KindName& kind, const std::string& name_space);

  // From now on collects status changes of objects of this kind.
  void watch(Kind kind);
  struct Change {
    std::string key;
    std::string status;  // JSON text; empty: the object was deleted
  };
  struct Changes {
    bool all = false;  // the link was down: any object may have changed
    std::vector<Change> list;
  };
  // Waits until something has changed. Exit::interrupted at a signal.
  Outcome<Changes> next_changes();

  void on_message(const Message& message) override;
  void on_link(bool up) override;

 private:
  static constexpr Millis kResendMs = 1'000;

  void send_request();
  void resend_later();
  Failure why_no_answer() const;

  Engine engine_;
  Address address_;
  Topics topics_;
  std::string reply_topic_;
  Message request_;  // in progress; without a topic: none
  bool idempotent_ = false;
  std::string answer_;
  bool answered_ = false;
  bool late_ = false;  // the deadline has passed
  std::uint64_t count_ = 0;
  Timers::Id resend_ = 0;
  std::string watched_;  // plural of the watched kind; empty: none
  Changes changes_;
  bool was_up_ = false;  // the link has been up before
};

}  // namespace berth
