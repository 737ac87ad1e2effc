// StreamClient: an operator's side of one stream. It takes a slot that is free, gives credit as its owner takes what
// came, and ends when frames are missing or nothing is heard: what was taken up to then is whole, and another stream of
// a log may go on behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/handshake/topics.h"
#include "core/streams/frame.h"
#include "core/timers.h"
#include "core/transport.h"

namespace berth {

class StreamClient {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_opened(const std::string& container, const std::vector<std::string>& containers) = 0;
    // What came, apart from what hold() is told in this call, is taken once this returns.
    virtual void on_data(const std::string& bytes, const std::string& position) = 0;
    // Likewise, of a command's standard error.
    virtual void on_errors(const std::string& /*bytes*/) {}
    // No data follows, but the stream goes on.
    virtual void on_last() {}
    // writable() has grown.
    virtual void on_writable() {}
    // Nothing follows. The client may be destroyed later, not in this call.
    virtual void on_end(StreamEnd why, const std::string& reason) = 0;
  };
  static constexpr std::uint64_t kWindow = 64 * 1024;
  static constexpr Millis kOpenAgainMs = 1'000;  // until the device has answered

  struct Address {
    std::string node;
    std::string operator_name;
    std::string id;  // of the stream: one that no other stream has, nor had
  };
  // All must outlive it.
  StreamClient(Topics topics, Address address, const Clock& clock, Transport& transport, Timers& timers,
               Handler& handler);
  ~StreamClient();  // closes
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  // Subscribes and asks for it until it is answered; the owner decides how long. The link is up.
  void open(StreamQuery query);
  // False: the message is of another topic.
  bool on_message(const Message& message);

  // So many bytes of on_data() are not taken yet; later they are.
  void hold(std::uint64_t bytes) { held_ += bytes; }
  void taken(std::uint64_t bytes);
  // How many bytes may be sent now. At most these are given to write(), and none behind `last`.
  std::uint64_t writable() const { return state_ == State::open && !has_last_ ? input_limit_ - sent_ : 0; }
  void write(std::string_view bytes, bool last);
  void resize(TerminalSize size);
  // Once it has ended: of the command.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  enum class State { idle, opening, open, ended };
  void subscribe();
  void ask();
  void on_frame(const StreamFrame& frame);
  void on_opened(const StreamFrame& frame);
  void on_data(const StreamFrame& frame);
  void take_limit(std::uint64_t limit);
  void give_credit();
  void tick();
  void end(StreamEnd why, const std::string& reason);
  void send(StreamFrame frame, int qos) const;

  const Topics topics_;
  const Address address_;
  std::string base_;  // Topics::stream()
  int slots_tried_ = 0;
  const Clock& clock_;
  Transport& transport_;
  Timers& timers_;
  Handler& handler_;
  State state_ = State::idle;
  StreamQuery query_;
  std::uint64_t run_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t limit_ = kWindow;
  std::uint64_t sent_ = 0;
  std::uint64_t input_limit_ = 0;
  bool has_last_ = false;  // was sent
  std::optional<int> exit_code_;
  Millis heard_at_ = 0;
  Timers::Id timer_ = 0;
};

}  // namespace berth
