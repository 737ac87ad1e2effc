// Leadership: of the gateways that reach one broker, one serves the fleet (P13). It stands between a gateway and its
// transport: to a gateway that does not serve the link is down, so that it asks no device and answers no operator.
//
// The broker passes every gateway's claim on to all in one order. Who sees its own claim come back without having heard
// of another one that claims or serves, serves. Who has to wait asks again and again whether the other one is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/gateway/other_gateways.h"
#include "core/handshake/topics.h"
#include "core/log.h"
#include "core/timers.h"
#include "core/transport.h"

namespace berth {

class Gateway;

struct LeadershipOptions {
  std::string fleet, gateway;
  std::string machine;           // machine_code()
  std::string run;               // an id, another one at each start of the program
  Millis takeover_ms = 120'000;  // one that has served is waited for so long after it was heard last
};

class Leadership final : public Transport, private Transport::Handler {
 public:
  // All outlive it.
  Leadership(LeadershipOptions options, const Clock& clock, Timers& timers, Log& log, Transport& transport);
  ~Leadership() override;

  // The gateway that is to serve: it has started, with this as its transport. It outlives the link.
  void set_gateway(Gateway& gateway) { gateway_ = &gateway; }
  // Retained "offline" presence, to give to the transport as its will.
  Message will() const;
  // The program ends: others hear that at once.
  void say_goodbye();
  // Why it does not serve although the link is up; empty: it serves, or the link is down.
  std::string why_waiting() const;
  bool is_link_up() const { return state_ != State::down; }

  void set_handler(Transport::Handler* handler) override { handler_ = handler; }
  bool is_up() const override { return state_ == State::serving; }
  std::string local_address() const override { return transport_.local_address(); }
  void send(const Message& message) override;
  std::size_t send_window() const override { return is_up() ? transport_.send_window() : 0; }
  void gather(bool on) override { transport_.gather(on); }
  void subscribe(const std::string& filter, int qos, SubscribeOptions options = {}) override;

 private:
  enum class State { down, claiming, waiting, serving, ended };
  void on_message(const Message& message) override;
  void on_link(bool up) override;
  void on_send_window() override;
  void take_presence(const std::string& gateway, const std::string& run, const Message& message);
  void take_own_presence(const Message& message);
  void take_other(const std::string& run, OtherGateways::Run other);
  void take_leader(const Message& message);
  void pass_on(const Message& message);
  void refuse_request(const Message& message);
  bool yields() const;
  bool must_wait() const;
  void begin_claims();
  void claim();
  void wait();
  void serve();
  void step_down();
  void say(PresenceState state);
  void say_leader();
  void clear(const std::string& topic);
  void tick();

  const LeadershipOptions options_;
  const Topics topics_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Transport& transport_;
  OtherGateways others_;
  Transport::Handler* handler_ = nullptr;
  Gateway* gateway_ = nullptr;
  State state_ = State::down;
  bool leader_said_ = false;       // since it began to serve
  bool has_old_presence_ = false;  // the broker retains what a release without runs has left
  std::uint32_t claim_ = 0;        // the last one,
  std::uint32_t first_claim_ = 0;  // and the first one since it has begun to claim
  Millis said_ = 0;                // when it said something last
  Millis ticked_ = 0;
  Timers::Id tick_ = 0;
};

}  // namespace berth
