// A device and an operator on an in-memory broker and a virtual clock. The device has one text, of which streams send
// what an operator has not seen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/handshake/topics.h"
#include "core/streams/stream_client.h"
#include "core/streams/stream_server.h"
#include "tests/unit/hand_clock.h"
#include "transports/loopback.h"

namespace berth {

class SilentLog final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

// What a test may still add to. A position is an offset in it.
struct FakeText {
  std::string text;
  bool is_over = true;
  std::vector<std::function<void()>*> readers;
};

class FakeTextSource final : public StreamSource {
 public:
  FakeTextSource(FakeText& text, std::size_t from, std::function<void()> ready)
      : text_(text), at_(from), ready_(std::move(ready)) {
    text_.readers.push_back(&ready_);
  }
  ~FakeTextSource() override { std::erase(text_.readers, &ready_); }
  Part read(std::size_t bytes_max) override {
    Part part;
    part.bytes = text_.text.substr(at_, bytes_max);
    at_ += part.bytes.size();
    part.position = std::to_string(at_);
    part.more = at_ < text_.text.size();
    if (!part.more && text_.is_over) part.end = StreamEnd::done;
    return part;
  }

 private:
  FakeText& text_;
  std::size_t at_;
  std::function<void()> ready_;
};

class FakeTexts final : public StreamSources {
 public:
  Result<OpenedStream> open(const StreamQuery& asked, std::function<void()> ready) override {
    if (std::holds_alternative<ExecQuery>(asked)) {
      ++programs_begun;
      return OpenedStream{std::make_unique<FakeCat>(*this, std::move(ready)), "main", {"main"}, true};
    }
    const LogQuery query = std::get<LogQuery>(asked);
    queries.push_back(query);
    if (query.uid == "none") return Status::error("there is no such pod");
    const std::size_t from = query.from.empty() ? 0 : std::stoul(query.from);
    return OpenedStream{std::make_unique<FakeTextSource>(text, from, std::move(ready)), "main", {"main", "other"}};
  }
  FakeText text;
  std::vector<LogQuery> queries;
  int programs_begun = 0;
  std::uint64_t cat_takes = ~std::uint64_t{0};  // how much of its input, in all
  std::size_t cat_kept_most = 0;                // what it had to keep at once
  TerminalSize size;

  // A command that writes what it reads; ends with the code 7 when its input does.
  class FakeCat final : public StreamSource {
   public:
    FakeCat(FakeTexts& texts, std::function<void()> ready) : texts_(texts), ready_(std::move(ready)) {}
    Part read(std::size_t bytes_max) override {
      Part part;
      const std::uint64_t may = texts_.cat_takes - std::min(texts_.cat_takes, taken_);
      part.bytes = kept_.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes_max, may)));
      kept_.erase(0, part.bytes.size());
      taken_ += part.bytes.size();
      part.more = !kept_.empty() && may > 0;
      if (kept_.empty() && is_over_) {
        part.end = StreamEnd::done;
        part.exit_code = 7;
      }
      return part;
    }
    void write(std::string_view bytes, bool last) override {
      kept_ += bytes;
      texts_.cat_kept_most = std::max(texts_.cat_kept_most, kept_.size());
      is_over_ = is_over_ || last;
      ready_();
    }
    std::uint64_t taken() const override { return taken_; }
    void resize(TerminalSize now) override { texts_.size = now; }

   private:
    FakeTexts& texts_;
    const std::function<void()> ready_;
    std::string kept_;
    std::uint64_t taken_ = 0;
    bool is_over_ = false;
  };
};

class FakeDevice final : public Transport::Handler {
 public:
  FakeDevice(LoopbackBroker& broker, const Clock& clock, Timers& timers)
      : client(broker, "n1"), server("f", "n1", clock, client, timers, texts, log) {
    client.set_handler(this);
    client.connect();
  }
  void on_message(const Message& message) override { EXPECT_TRUE(server.on_message(message)) << message.topic; }
  void on_link(bool up) override { server.on_link(up); }

  FakeTexts texts;
  SilentLog log;
  LoopbackClient client;
  StreamServer server;
};

// One stream after the other, each of which goes on where the one before was, if `resumes`.
class FakeReader final : public Transport::Handler, public StreamClient::Handler {
 public:
  FakeReader(LoopbackBroker& broker, const Clock& clock, Timers& timers, std::string name, bool resumes = false,
             const std::string& connection = {})
      : client(broker, "operator-" + name + connection),
        clock_(clock),
        timers_(timers),
        name_(std::move(name)),
        connection_(connection.empty() ? "" : "c" + connection),
        resumes_(resumes) {
    query.uid = "u1";
    client.set_handler(this);
    client.connect();
  }
  ~FakeReader() override {
    timers_.cancel(again_);
    stream.reset();
  }
  void open() {
    if (!client.is_up()) return;
    query.from = position;
    make();
    stream->open(query);
  }
  // `from` is sent to a command as its input.
  void run_command(std::string from) {
    input = std::move(from);
    make();
    stream->open(ExecQuery{.uid = "u1", .pod = "default/web", .command = {"cat"}, .input = true});
  }
  void make() {
    stream = std::make_unique<StreamClient>(
        Topics("f"), StreamClient::Address{"n1", name_, connection_ + name_ + "-" + std::to_string(++opened)}, clock_,
        client, timers_, *this);
  }
  void on_link(bool up) override {
    stream.reset();
    if (up && opened > 0 && ends.empty()) open();
  }
  void on_message(const Message& message) override {
    if (stream && !stream->on_message(message)) ++not_taken;
  }
  void on_opened(const std::string& container, const std::vector<std::string>& containers) override {
    said += "opened " + container + "/" + std::to_string(containers.size()) + " ";
  }
  void on_data(const std::string& bytes, const std::string& at) override {
    text += bytes;
    position = at;
  }
  void on_writable() override {
    const std::string part = input.substr(0, static_cast<std::size_t>(stream->writable()));
    input.erase(0, part.size());
    if (!part.empty() || input.empty()) stream->write(part, input.empty());
  }
  void on_end(StreamEnd why, const std::string& reason) override {
    exit_code = stream ? stream->exit_code() : std::nullopt;
    const bool is_to_go_on = why != StreamEnd::done && why != StreamEnd::refused && why != StreamEnd::failed;
    if (resumes_ && is_to_go_on) {
      again_ = timers_.at(clock_.now() + (why == StreamEnd::busy ? 1000 : 0), [this] { open(); });
    } else {
      ends.emplace_back(why, reason);
    }
  }

  LoopbackClient client;
  LogQuery query;
  std::unique_ptr<StreamClient> stream;
  std::string text;
  std::string input;
  std::optional<int> exit_code;
  std::string position;
  std::string said;
  std::vector<std::pair<StreamEnd, std::string>> ends;
  int opened = 0;
  int not_taken = 0;  // messages that are for somebody else

 private:
  const Clock& clock_;
  Timers& timers_;
  const std::string name_;
  const std::string connection_;  // told apart in its streams' ids
  const bool resumes_;
  Timers::Id again_ = 0;
};

class StreamsFixture : public testing::Test {
 protected:
  explicit StreamsFixture(std::uint64_t seed = 7) : broker_(clock_, timers_, seed), device_(broker_, clock_, timers_) {
    run(0);
  }

  // Runs every timer due within `span`, and the device's turn after each.
  void run(Millis span) {
    const Millis end = clock_.now_ms + span;
    while (timers_.next() && *timers_.next() <= end) {
      clock_.now_ms = std::max(clock_.now_ms, *timers_.next());
      timers_.run_due(clock_.now_ms);
      device_.server.end_turn();
    }
    clock_.now_ms = end;
  }
  std::unique_ptr<FakeReader> reader(const std::string& name, bool resumes = false) {
    auto made = std::make_unique<FakeReader>(broker_, clock_, timers_, name, resumes);
    run(0);
    return made;
  }
  void write(const std::string& more) {
    device_.texts.text.text += more;
    for (std::function<void()>* ready : device_.texts.text.readers) (*ready)();
    device_.server.end_turn();
  }
  // Numbered, so that one that is missing or comes twice shows.
  static std::string lines(int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  }

  HandClock clock_;
  Timers timers_;
  LoopbackBroker broker_;
  FakeDevice device_;
};

}  // namespace berth
