// Streams beside the exchange: what devices send of an endless log, and an operator who reads it, both as fast as the
// real ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/handshake/topics.h"
#include "core/log.h"
#include "core/streams/stream_client.h"
#include "core/streams/stream_server.h"
#include "transports/mqtt.h"

namespace asio {
class io_context;
}

namespace berth::bench {

// Runs timers of core on a loop of Asio.
class LoopTimers {
 public:
  LoopTimers(asio::io_context& loop, std::function<void()> after);
  ~LoopTimers();
  const Clock& clock() const { return clock_; }
  Timers& timers() { return timers_; }
  // After each event that may have set one.
  void arm();

 private:
  class SteadyMillis final : public Clock {
   public:
    Millis now() const override;
    Millis wall() const override { return now(); }
  };
  struct Alarm;
  SteadyMillis clock_;
  Timers timers_;
  std::shared_ptr<Alarm> alarm_;
  Millis armed_for_ = 0;
  std::function<void()> after_;
};

// A device's server, whose source never ends.
class StreamOfLines final : public StreamSources {
 public:
  StreamOfLines(asio::io_context& loop, Transport& link, const std::string& node);
  bool on_message(const Message& message);
  Result<OpenedStream> open(const StreamQuery& query, std::function<void()> ready) override;

 private:
  class Silent final : public Log {
   public:
    void write(Level, std::string_view, std::initializer_list<Field>) override {}
  };
  Silent log_;
  LoopTimers timers_;
  StreamServer server_;
};

// An operator with a connection of its own.
class StreamReader final : public Transport::Handler, public StreamClient::Handler {
 public:
  StreamReader(asio::io_context& loop, Log& log, MqttOptions options, std::atomic<std::uint64_t>& bytes);
  // From the first devices, one stream each, in place of those before.
  void read_from(int devices);

 private:
  void on_link(bool) override {}
  void on_message(const Message& message) override;
  void on_opened(const std::string&, const std::vector<std::string>&) override {}
  void on_data(const std::string& bytes, const std::string&) override { bytes_ += bytes.size(); }
  void on_end(StreamEnd why, const std::string& reason) override;

  LoopTimers timers_;
  MqttTransport link_;
  std::atomic<std::uint64_t>& bytes_;
  std::vector<std::unique_ptr<StreamClient>> streams_;
  int opened_ = 0;
};

}  // namespace berth::bench
