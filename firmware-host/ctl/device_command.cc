#include "firmware-host/ctl/device_command.h"

#include <algorithm>
#include <utility>

#include "firmware-host/ctl/text.h"

namespace berth {

DeviceCommand::DeviceCommand(ApiClient::Engine engine, ApiClient::Address address, std::string pod, std::string stream)
    : engine_(std::move(engine)),
      address_(std::move(address)),
      locator_(engine_, address_, std::move(pod), std::move(stream), *this) {
  engine_.transport.set_handler(this);
}

DeviceCommand::~DeviceCommand() {
  stop_deadline();
  engine_.transport.set_handler(nullptr);
}

std::optional<Failure> DeviceCommand::run_engine() {
  start_deadline();
  if (engine_.transport.is_up()) on_link(true);
  engine_.run();
  return failure_;
}

void DeviceCommand::start_deadline() {
  stop_deadline();
  deadline_ = engine_.timers.at(engine_.clock.now() + address_.timeout_ms, [this] { give_up(locator_.too_late()); });
}

std::unique_ptr<StreamClient> DeviceCommand::make_stream(const std::string& suffix,
                                                         StreamClient::Handler& handler) const {
  return std::make_unique<StreamClient>(
      Topics(address_.fleet), StreamClient::Address{locator_.node(), address_.identity, address_.session + suffix},
      engine_.clock, engine_.transport, engine_.timers, handler);
}

void DeviceCommand::tell_defaulted(std::ostream& to, const std::string& container,
                                   const std::vector<std::string>& containers) {
  std::string names;
  for (const std::string& name : containers) names += (names.empty() ? "" : ", ") + printable(name);
  to << "Defaulted container \"" << printable(container) << "\" out of: " << names << "\n";
}

void DeviceCommand::give_up(Failure failure) {
  if (!failure_) failure_ = std::move(failure);
  engine_.stop();
}

StreamCommand::StreamCommand(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                             std::string pod, std::string stream, std::string lost)
    : DeviceCommand(std::move(engine), std::move(address), std::move(pod), std::move(stream)),
      context_(context),
      lost_(std::move(lost)) {}

void StreamCommand::on_link(bool up) {
  if (up && !stream_) return locate();
  if (!up && stream_) give_up({Exit::unreachable, "the connection to the broker was lost; " + lost_});
}

void StreamCommand::on_message(const Message& message) {
  if (stream_ && stream_->on_message(message)) return;
  if (!has_failed()) locator().on_message(message);
}

void StreamCommand::open_stream(StreamQuery query) {
  stream_ = make_stream("", *this);
  stream_->open(std::move(query));
}

void StreamCommand::send_input(int file) {
  input_ = std::make_unique<StandardInput>(context_, file, [this] { on_writable(); });
}

void StreamCommand::on_writable() {
  while (input_ && stream_->writable() > 0 && input_->is_ready()) {
    const std::string bytes = input_->read(std::min<std::size_t>(kStreamPartBytes, stream_->writable()));
    stream_->write(bytes, bytes.empty());
    if (bytes.empty()) input_.reset();
    on_sent(bytes.size());
  }
}

void StreamCommand::on_end(StreamEnd why, const std::string& reason) {
  if (why == StreamEnd::done && is_complete()) return engine().stop();
  give_up({why == StreamEnd::silent ? Exit::no_answer : Exit::refused, locator().node() + ": " + printable(reason)});
}

void StreamCommand::end_stream() {
  stream_.reset();
  input_.reset();
}

}  // namespace berth
