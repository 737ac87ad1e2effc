#include "tests/unit/transports/mqtt_fixture.h"

#include <asio/io_context.hpp>
#include <chrono>

namespace berth {

MqttTest::MqttTest() : context_(std::make_unique<asio::io_context>()) {}
MqttTest::~MqttTest() = default;

bool MqttTest::run_until(const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  loop_.restart();
  while (!done()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    loop_.run_one_until(limit);
    if (loop_.stopped()) loop_.restart();
  }
  return true;
}

}  // namespace berth
