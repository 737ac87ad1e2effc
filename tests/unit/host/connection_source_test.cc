// ConnectionSource: what passes between a stream and a real TCP connection.
#include "firmware-host/agent/streams/connection_source.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <optional>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/probe_tcp.h"

namespace berth {
namespace {

constexpr std::size_t kPartBytes = 1000;

class ConnectionSourceTest : public testing::Test {
 protected:
  ConnectionSourceTest() {
    const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    const Result<int> begun = begin_connect("127.0.0.1", ntohs(address.sin_port));
    EXPECT_TRUE(begun);
    server_ = Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    source_.emplace(context_, *begun, [this] { ++ready_; });
    while (ready_ == 0) context_.run_one();
  }

  void answer(std::string_view text) const {
    EXPECT_EQ(send(server_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Until the stream ends or there is nothing now; what was read goes to text_.
  StreamSource::Part read_all() {
    StreamSource::Part part;
    do {
      part = source_->read(kPartBytes);
      text_ += part.bytes;
    } while (part.more && !part.end);
    return part;
  }

  asio::io_context context_;
  Descriptor server_;
  int ready_ = 0;
  std::string text_;
  std::optional<ConnectionSource> source_;
};

TEST_F(ConnectionSourceTest, AnAnswerThatHadComeIsPassedOnAlthoughTheServerTakesNoMoreInput) {
  source_->write("a request that is not read", false);
  const std::string refusal(3 * kPartBytes, 'x');
  answer(refusal);
  server_ = Descriptor();  // with a request unread that is a reset
  source_->write("the rest of it", false);
  const StreamSource::Part last = read_all();
  EXPECT_EQ(text_, refusal);
  EXPECT_EQ(last.end, StreamEnd::failed);
  EXPECT_FALSE(last.reason.empty());
}

TEST_F(ConnectionSourceTest, InputThatCannotBePassedOnIsToldToTheReader) {
  source_->write("unread", false);
  server_ = Descriptor();
  const int before = ready_;
  source_->write("refused", false);
  EXPECT_GT(ready_, before);
  EXPECT_EQ(read_all().end, StreamEnd::failed);
}

TEST_F(ConnectionSourceTest, EachDirectionEndsByItself) {
  answer("all");
  shutdown(server_.get(), SHUT_WR);
  const StreamSource::Part last = read_all();
  EXPECT_TRUE(last.last && !last.end);
  EXPECT_EQ(text_, "all");
  source_->write("to the end", true);
  EXPECT_EQ(source_->read(kPartBytes).end, StreamEnd::done);
  std::string got(100, '\0');
  got.resize(static_cast<std::size_t>(recv(server_.get(), got.data(), got.size(), MSG_WAITALL)));
  EXPECT_EQ(got, "to the end");
}

}  // namespace
}  // namespace berth
