// DeviceCommand: the frame of a command that talks with one device past the gateway: finds the device within
// --timeout, and ends with the first failure. StreamCommand: one whose work is a single stream.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/streams/stream_client.h"
#include "firmware-host/ctl/api_client.h"
#include "firmware-host/ctl/pod_locator.h"
#include "firmware-host/ctl/standard_input.h"

namespace berth {

class DeviceCommand : public Transport::Handler, public PodLocator::Handler {
 public:
  DeviceCommand(const DeviceCommand&) = delete;
  DeviceCommand& operator=(const DeviceCommand&) = delete;
  void on_not_located(Failure failure) final { give_up(std::move(failure)); }

 protected:
  // `pod`, `stream`: as PodLocator has them. What the engine refers to must outlive it.
  DeviceCommand(ApiClient::Engine engine, ApiClient::Address address, std::string pod, std::string stream);
  ~DeviceCommand() override;

  // Runs until it gives up, or the engine is stopped; the failure, if there was one.
  std::optional<Failure> run_engine();
  // Of --timeout, from now; running it starts one.
  void start_deadline();
  void stop_deadline() { engine_.timers.cancel(deadline_); }
  // The first failure counts.
  void give_up(Failure failure);
  bool has_failed() const { return failure_.has_value(); }

  // To the device that was located. `suffix`: what tells its id from those of the command's other streams.
  std::unique_ptr<StreamClient> make_stream(const std::string& suffix, StreamClient::Handler& handler) const;
  static void tell_defaulted(std::ostream& to, const std::string& container,
                             const std::vector<std::string>& containers);

  const ApiClient::Engine& engine() const { return engine_; }
  const ApiClient::Address& address() const { return address_; }
  PodLocator& locator() { return locator_; }

 private:
  const ApiClient::Engine engine_;
  const ApiClient::Address address_;
  PodLocator locator_;
  std::optional<Failure> failure_;
  Timers::Id deadline_ = 0;
};

class StreamCommand : public DeviceCommand, public StreamClient::Handler {
 public:
  void on_link(bool up) final;
  void on_message(const Message& message) final;
  void on_writable() final;
  void on_end(StreamEnd why, const std::string& reason) final;

 protected:
  // `lost`: what a lost connection means for what the stream does.
  StreamCommand(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context, std::string pod,
                std::string stream, std::string lost);
  ~StreamCommand() override { end_stream(); }

  virtual void locate() = 0;
  // Of `bytes` of the input, none at its end.
  virtual void on_sent(std::size_t /*bytes*/) {}
  // The stream has ended without a failure. False: that is one nevertheless.
  virtual bool is_complete() = 0;

  void open_stream(StreamQuery query);
  StreamClient* stream() { return stream_.get(); }
  // What can be read there is sent, until its end. Whoever closes the file ends the stream before.
  void send_input(int file);
  bool has_input() const { return input_ != nullptr; }
  void end_stream();

 private:
  asio::io_context& context_;
  const std::string lost_;
  std::unique_ptr<StreamClient> stream_;
  std::unique_ptr<StandardInput> input_;  // until its end
};

}  // namespace berth
