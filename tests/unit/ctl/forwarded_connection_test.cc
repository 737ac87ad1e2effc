// ForwardedConnection: what a stream's end means for the local side. The device is a StreamServer on an in-memory
// broker.
#include "firmware-host/ctl/forwarded_connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/io_context.hpp>
#include <optional>

#include "core/streams/stream_server.h"
#include "firmware-host/agent/descriptor.h"
#include "tests/unit/hand_clock.h"
#include "transports/loopback.h"

namespace berth {
namespace {

constexpr Millis kRunMs = 1000;

// A server that answers, and then resets the connection.
class RefusingPort final : public StreamSource {
 public:
  explicit RefusingPort(std::string answer) : answer_(std::move(answer)) {}
  Part read(std::size_t bytes_max) override {
    Part part{.bytes = answer_.substr(0, bytes_max)};
    answer_.erase(0, part.bytes.size());
    part.more = !answer_.empty();
    if (!part.more) part.end = StreamEnd::failed;
    if (!part.more) part.reason = "Connection reset by peer";
    return part;
  }

 private:
  std::string answer_;
};

class ForwardedConnectionTest : public testing::Test, public Transport::Handler, public StreamSources {
 protected:
  class UnwrittenLog final : public Log {
   public:
    void write(Level, std::string_view, std::initializer_list<Field>) override {}
  };
  class AtServer final : public Transport::Handler {
   public:
    explicit AtServer(StreamServer& server) : server_(server) {}
    void on_message(const Message& message) override { EXPECT_TRUE(server_.on_message(message)); }
    void on_link(bool up) override { server_.on_link(up); }

   private:
    StreamServer& server_;
  };

  ForwardedConnectionTest() {
    device_.set_handler(&at_server_);
    operator_.set_handler(this);
    device_.connect();
    operator_.connect();
    run(0);
  }
  void on_link(bool) override {}
  void on_message(const Message& message) override {
    if (connection_) connection_->on_message(message);
  }
  Result<OpenedStream> open(const StreamQuery&, std::function<void()>) override {
    return OpenedStream{.source = std::make_unique<RefusingPort>(answer_), .takes_input = true};
  }

  // What is due within `span`, and what sockets have to tell.
  void run(Millis span) {
    const Millis end = clock_.now_ms + span;
    do {
      while (timers_.next() && *timers_.next() <= end) {
        clock_.now_ms = std::max(clock_.now_ms, *timers_.next());
        timers_.run_due(clock_.now_ms);
        server_.end_turn();
      }
      context_.restart();
    } while (context_.poll() > 0);
    clock_.now_ms = end;
  }
  // As port-forward does: it goes with its end.
  void connect() {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    const int little = 1;
    ASSERT_EQ(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof little), 0);
    local_ = Descriptor(ends[1]);
    connection_ = std::make_unique<ForwardedConnection>(
        engine_, context_, ends[0],
        ForwardedConnection::Target{"f", {"n1", "ann", "ann-1"}, {.uid = "u", .pod = "default/web", .port = 80}},
        [this](const std::string& failure) {
          failure_ = failure;
          connection_.reset();
        });
  }
  // Until the other side has closed it, or nothing comes any more.
  std::string read_all() {
    std::string text;
    std::array<char, 1000> part{};
    for (ssize_t got = 1; got > 0; run(kRunMs)) {
      got = recv(local_.get(), part.data(), part.size(), 0);
      if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

  asio::io_context context_;
  HandClock clock_;
  Timers timers_;
  UnwrittenLog log_;
  LoopbackBroker broker_{clock_, timers_, 7};
  LoopbackClient device_{broker_, "n1"}, operator_{broker_, "operator-ann"};
  StreamServer server_{"f", "n1", clock_, device_, timers_, *this, log_};
  AtServer at_server_{server_};
  const ApiClient::Engine engine_{operator_, clock_, timers_, [] {}, [] {}, [] { return std::string(); }};
  std::string answer_;
  Descriptor local_;
  std::unique_ptr<ForwardedConnection> connection_;
  std::optional<std::string> failure_;
};

TEST_F(ForwardedConnectionTest, OfAStreamThatFailsWhatCameIsTakenBeforeTheFailureIsTold) {
  answer_ = std::string(kStreamWindowMin - 1000, 'x');  // comes without any having been taken
  connect();
  run(kRunMs);
  EXPECT_FALSE(failure_) << "the local side has not taken all";
  EXPECT_TRUE(read_all() == answer_);
  EXPECT_EQ(failure_, "Connection reset by peer");
}

TEST_F(ForwardedConnectionTest, OfAStreamThatFailsALocalSideThatIsGoneIsNotWaitedFor) {
  answer_ = std::string(kStreamWindowMin - 1000, 'x');
  connect();
  run(kRunMs);
  local_ = Descriptor();
  run(kRunMs);
  EXPECT_TRUE(failure_);
}

}  // namespace
}  // namespace berth
