// logs: reads the log of a container from the device that runs it, past the gateway.
#include <memory>
#include <optional>
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/cri_lines.h"
#include "firmware-host/ctl/device_command.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

constexpr Millis kBusyAgainMs = 2'000;

class LogsCommand final : public DeviceCommand, public StreamClient::Handler {
 public:
  LogsCommand(ApiClient::Engine engine, ApiClient::Address address, const CtlOptions& options, const Screen& screen)
      : DeviceCommand(std::move(engine), std::move(address), namespace_of(options) + "/" + options.name, "logs"),
        screen_(screen),
        lines_(screen.out, options.logs.timestamps) {
    query_.pod = namespace_of(options) + "/" + options.name;
    query_.container = options.logs.container;
    query_.follow = options.logs.follow;
    query_.previous = options.logs.previous;
    query_.tail = options.logs.tail;
    query_.since_ms = options.logs.since_ms;
  }
  ~LogsCommand() override { engine().timers.cancel(again_); }
  LogsCommand(const LogsCommand&) = delete;
  LogsCommand& operator=(const LogsCommand&) = delete;

  Outcome<void> run() {
    const std::optional<Failure> failure = run_engine();
    lines_.finish();
    if (failure) return std::unexpected(*failure);
    if (!is_done_) return fail(Exit::interrupted, "interrupted");
    return {};
  }

  void on_link(bool up) override {
    stream_.reset();  // the device has noticed nothing, or the broker forgets it
    if (!up || has_failed() || is_done_) return;
    if (locator().is_done()) return open();
    locator().begin();
  }

  void on_message(const Message& message) override {
    if (stream_ && stream_->on_message(message)) return;
    if (!has_failed()) locator().on_message(message);
  }

  void on_located(const std::string&, const std::string& uid) override {
    query_.uid = uid;
    open();
  }

  void on_opened(const std::string& container, const std::vector<std::string>& containers) override {
    stop_deadline();
    if (!query_.follow) start_deadline();
    if (has_opened_) return;
    has_opened_ = true;
    if (!query_.container.empty() || containers.size() < 2) return;
    query_.container = container;  // when it is opened again, too
    tell_defaulted(screen_.err, container, containers);
  }

  void on_data(const std::string& bytes, const std::string& position) override {
    lines_.print(bytes);
    screen_.out.flush();
    if (!screen_.out) return give_up({Exit::system, "cannot write the output"});
    if (!position.empty()) query_.from = position;
    if (!query_.follow) start_deadline();
  }

  void on_end(StreamEnd why, const std::string& reason) override {
    switch (why) {
      case StreamEnd::done: is_done_ = true; return engine().stop();
      case StreamEnd::busy:
      case StreamEnd::occupied:
        if (!has_opened_) return give_up({Exit::refused, locator().node() + ": " + printable(reason)});
        return open_again(kBusyAgainMs);
      case StreamEnd::refused:
      case StreamEnd::failed: return give_up({Exit::refused, locator().node() + ": " + printable(reason)});
      case StreamEnd::unknown:
      case StreamEnd::lost:
      case StreamEnd::silent: return open_again(0);
    }
  }

 private:
  void open() {
    engine().timers.cancel(again_);
    stream_ = make_stream("-" + std::to_string(++opened_), *this);
    stream_->open(query_);
  }

  // Where it has come to; until it is interrupted, if it is to follow.
  void open_again(Millis delay) {
    again_ = engine().timers.at(engine().clock.now() + delay, [this] {
      again_ = 0;
      if (engine().transport.is_up()) open();
    });
  }

  const Screen& screen_;
  CriLines lines_;
  LogQuery query_;
  std::unique_ptr<StreamClient> stream_;
  int opened_ = 0;
  bool has_opened_ = false;
  bool is_done_ = false;
  Timers::Id again_ = 0;
};

}  // namespace

Outcome<void> run_logs(ApiClient::Engine engine, ApiClient::Address address, const CtlOptions& options,
                       const Screen& screen) {
  return LogsCommand(std::move(engine), std::move(address), options, screen).run();
}

}  // namespace berth
