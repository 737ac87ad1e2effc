// ApiClient: sends requests to the gateway and waits for its answers (transports/README.md, Clients). One request at a
// time: the program has nothing else to do while it waits, so each call runs the event loop until the answer, the
// deadline or a signal.
//
// A request that meets a gateway just when it restarts is lost: its broker has no subscriber to give it to, or the
// gateway dies before the commit. Or it was carried out, and only the answer is lost. The client cannot tell, so what
// it does depends on what a second one would do:
// - Reads, and an apply: the same again. It is sent every kResendMs. So are a pod that is re-created, under a uid of
// the
//   client's, and an object with a generated name, which nobody else can mean.
// - A delete: the name may be another object's by the time a second one arrives. remove() looks first what is there.
// - forget, adopt, allow, reject, and a create of a given name: sent once, whatever happens to the link. The node may
//   have come back, the gateway be in adopt mode for another reason, or the pod wait for another permit. The failure
//   says that it is not known whether it was done.
#pragma once

#include <functional>
#include <optional>
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
  // The last request was sent more than once: a refusal may be of the second one.
  bool was_resent() const { return sends_ > 1; }

  // Deletes what has this name now. After kResendMs without an answer it asks whether that is still there. Requests of
  // one client on one topic arrive in their order: if what was seen at first is there, and not being deleted, the
  // delete before this question was lost for good, and is sent again.
  // `propagation`: what becomes of what the object owns, "Foreground" ...; empty: as the gateway does by itself.
  Outcome<Json> remove(const KindName& kind, const std::string& name_space, const std::string& name,
                       const std::string& propagation);

  // Applies an object; `request` has the other members. One that is larger than a message goes in parts.
  Outcome<Json> apply(Json request, Json object, bool idempotent);

  // Of a Secret either the values, or of each the number of its bytes.
  enum class Values { sizes, whole };
  // One object with its status.
  Outcome<Json> get(const KindName& kind, const std::string& name_space, const std::string& name,
                    Values values = Values::sizes);
  // All objects of a kind, page by page. An empty namespace: all namespaces. What is larger than a message comes
  // without its data, unless values are asked for.
  Outcome<std::vector<Json>> list(const KindName& kind, const std::string& name_space, Values values = Values::sizes);

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
  // Waits until something has changed; with `at_most`, no longer: then nothing has. Exit::interrupted at a signal.
  Outcome<Changes> next_changes(const std::optional<Millis>& at_most = {});

  void on_message(const Message& message) override;
  void on_link(bool up) override;

 private:
  static constexpr Millis kResendMs = 1'000;

  Outcome<Json> get_in_parts(const Json& request);
  Outcome<Json> ask_within(Json request, bool idempotent, Millis patience);
  void send_request();
  void resend_later();
  Failure why_no_answer() const;

  Engine engine_;
  Address address_;
  Topics topics_;
  std::string reply_topic_;
  Message request_;  // in progress; without a topic: none
  bool idempotent_ = false;
  int sends_ = 0;  // of the request
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
