// What a client says when it has nothing to say: MQTT 5, 3.1.2.10. The broker is a socket that answers nothing but
// CONNECT and PINGREQ.
#include <gtest/gtest.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/log.h"
#include "transports/mqtt.h"

namespace berth {
namespace {

using asio::ip::tcp;

class NoLog final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

class KeepaliveTest : public ::testing::Test {
 protected:
  KeepaliveTest() : server_(loop_, {asio::ip::address_v4::loopback(), 0}), client_(loop_) {
    MqttOptions options;
    options.host = "127.0.0.1";
    options.port = server_.local_endpoint().port();
    options.client_id = "quiet";
    options.keepalive_s = 5;
    transport_.emplace(loop_, log_, options);
    server_.async_accept(client_, [this](const asio::error_code& error) {
      ASSERT_FALSE(error);
      read();
    });
    transport_->start();
  }
  ~KeepaliveTest() override { transport_->disconnect(); }

  void read() {
    client_.async_read_some(asio::buffer(part_), [this](const asio::error_code& error, std::size_t size) {
      if (error) return loop_.stop();
      const std::uint8_t packet = part_[0] & 0xf0;
      if (packet == 0x10) say(std::string("\x20\x03\x00\x00\x00", 5));  // CONNACK
      pings_ += size == 2 && packet == 0xc0 ? 1 : 0;
      if (pings_ > 0) loop_.stop();
      read();
    });
  }
  void say(const std::string& bytes) {
    asio::error_code ignored;
    client_.write_some(asio::buffer(bytes), ignored);
  }
  // Runs until a ping has come; the limit only ends a test that has failed.
  bool is_pinged() {
    loop_.run_for(std::chrono::seconds(30));
    return pings_ > 0;
  }

  asio::io_context loop_;
  NoLog log_;
  tcp::acceptor server_;
  tcp::socket client_;
  std::array<std::uint8_t, 1024> part_{};
  int pings_ = 0;
  std::optional<MqttTransport> transport_;
};

TEST_F(KeepaliveTest, AClientThatSaysAndHearsNothingPings) { EXPECT_TRUE(is_pinged()); }

TEST_F(KeepaliveTest, AClientThatOnlyListensPings) {
  asio::steady_timer again(loop_);
  std::function<void()> speak = [&] {
    again.expires_after(std::chrono::milliseconds(500));
    again.async_wait([&](const asio::error_code& error) {
      if (error) return;
      if (transport_->is_up()) say(std::string("\x30\x05\x00\x01t\x00x", 7));  // PUBLISH, QoS 0
      speak();
    });
  };
  speak();
  EXPECT_TRUE(is_pinged());
}

TEST_F(KeepaliveTest, AClientThatOnlySpeaksPingsToHearWhetherTheBrokerIsThere) {
  asio::steady_timer again(loop_);
  std::function<void()> speak = [&] {
    again.expires_after(std::chrono::milliseconds(500));
    again.async_wait([&](const asio::error_code& error) {
      if (error) return;
      Message message;
      message.topic = "t";
      message.payload = "x";
      transport_->send(message);
      speak();
    });
  };
  speak();
  EXPECT_TRUE(is_pinged());
}

}  // namespace
}  // namespace berth
