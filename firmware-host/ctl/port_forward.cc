// port-forward: local TCP ports that lead to ports of a pod, through the broker to the device that has it. Each
// connection is a stream of its own; it ends with the connection to the broker, and the next one begins another stream.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/device_command.h"
#include "firmware-host/ctl/forwarded_connection.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/fd_watch.h"

namespace berth {

namespace {

constexpr std::size_t kConnectionsMax = 64;  // more wait to be accepted

struct LocalPort {
  int socket = -1;
  int port = 0;
};

// `port` 0: one that is free.
Outcome<LocalPort> listen_on(const std::string& address, int port) {
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &local.sin_addr) != 1) {
    return fail(Exit::usage, "--address: must be an IPv4 address, got \"" + address + "\"");
  }
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  socklen_t length = sizeof local;
  const bool is_listening = file >= 0 && setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                            bind(file, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0 &&
                            listen(file, 16) == 0 &&
                            getsockname(file, reinterpret_cast<sockaddr*>(&local), &length) == 0;
  if (is_listening) return LocalPort{file, ntohs(local.sin_port)};
  const std::string why = std::strerror(errno);
  if (file >= 0) close(file);
  return fail(Exit::system, "cannot listen on " + address + ":" + std::to_string(port) + ": " + why);
}

class PortForward final : public DeviceCommand {
 public:
  PortForward(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
              const CtlOptions& options, const Screen& screen)
      : DeviceCommand(std::move(engine), std::move(address), namespace_of(options) + "/" + options.name, "forward"),
        context_(context),
        options_(options),
        screen_(screen) {}

  Outcome<void> run() {
    const std::optional<Failure> failure = run_engine();
    if (failure) return std::unexpected(*failure);
    return fail(Exit::interrupted, "interrupted");
  }

  void on_link(bool up) override {
    if (!up && !connections_.empty()) screen_.err << "the connection to the broker was lost" << std::endl;
    if (!up) connections_.clear();
    if (up) locator().begin();
  }
  void on_message(const Message& message) override {
    for (const auto& [number, connection] : connections_) {
      if (connection->on_message(message)) return;
    }
    locator().on_message(message);
  }

  void on_located(const std::string&, const std::string& uid) override {
    stop_deadline();
    uid_ = uid;
    for (const PortPair& ports : options_.forward.ports) {
      const Outcome<LocalPort> local = listen_on(options_.forward.address, ports.local);
      if (!local) return give_up(local.error());
      listeners_.push_back(std::make_unique<FdWatch>(
          context_, local->socket,
          [this, file = local->socket, port = local->port, to = ports.remote] { accept_one(file, port, to); }));
      screen_.out << "Forwarding from " << options_.forward.address << ":" << local->port << " -> " << ports.remote
                  << std::endl;
    }
  }

 private:
  // More than kConnectionsMax are closed at once: nobody may fill the memory.
  void accept_one(int listener, int local, int remote) {
    const int socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    if (!engine().transport.is_up() || connections_.size() >= kConnectionsMax) {
      close(socket);
      return;
    }
    screen_.out << "Handling connection for " << local << std::endl;
    const int number = ++accepted_;
    connections_[number] = std::make_unique<ForwardedConnection>(
        engine(), context_, socket,
        ForwardedConnection::Target{
            address().fleet,
            {locator().node(), address().identity, address().session + "-" + std::to_string(number)},
            {.uid = uid_, .pod = namespace_of(options_) + "/" + options_.name, .port = remote}},
        [this, number, remote](const std::string& failure) {
          if (!failure.empty()) screen_.err << "port " << remote << ": " << printable(failure) << std::endl;
          connections_.erase(connections_.find(number));
        });
  }

  asio::io_context& context_;
  const CtlOptions& options_;
  const Screen& screen_;
  std::string uid_;
  std::vector<std::unique_ptr<FdWatch>> listeners_;
  std::map<int, std::unique_ptr<ForwardedConnection>> connections_;
  int accepted_ = 0;
};

}  // namespace

Outcome<void> run_port_forward(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                               const CtlOptions& options, const Screen& screen) {
  return PortForward(std::move(engine), std::move(address), context, options, screen).run();
}

}  // namespace berth
