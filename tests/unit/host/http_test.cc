#include <gtest/gtest.h>

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>

#include "core/random.h"
#include "firmware-host/http_server.h"
#include "firmware-host/real_clock.h"
#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

using Progress = HttpRequestReader::Progress;
using asio::ip::tcp;

struct RequestCase {
  std::string bytes;
  Progress want;
  int status;
};

const RequestCase kRequests[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", Progress::done, 0},
    {"HEAD /metrics?x HTTP/1.0\r\n\r\n", Progress::done, 0},
    {"GET http://a:1/b HTTP/1.1\r\n\r\n", Progress::done, 0},
    {"GET /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", Progress::done, 0},
    {"GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n", Progress::done, 0},
    {"GET / HTTP/1.1\r\n", Progress::more, 0},
    {"GE", Progress::more, 0},
    {"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n", Progress::refused, 405},
    {"CONNECT a:1 HTTP/1.1\r\n\r\n", Progress::refused, 405},
    {"GET / HTTP/2.0\r\n\r\n", Progress::refused, 505},
    {"GET /\r\n\r\n", Progress::refused, 505},
    {"hello\r\n\r\n", Progress::refused, 400},
    {"GET / HTTP/1.1\r\nno colon\r\n\r\n", Progress::refused, 400},
    {"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", Progress::refused, 400},
    {std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), Progress::refused, 400},
    {"\x16\x03\x01\x02", Progress::refused, 400},
    {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", Progress::refused, 431},
    {"GET / HTTP/1.1\r\nCookie: " + std::string(9000, 'a'), Progress::refused, 431},
};

TEST(HttpRequestReader, AcceptsOrRefusesInPiecesOfAnySize) {
  for (const RequestCase& each : kRequests) {
    SCOPED_TRACE(each.bytes.substr(0, 60));
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{20'000}}) {
      HttpRequestReader reader;
      Progress progress = Progress::more;
      for (std::size_t at = 0; at < each.bytes.size(); at += piece) {
        progress = reader.feed(std::string_view(each.bytes).substr(at, piece));
      }
      EXPECT_EQ(progress, each.want) << "pieces of " << piece;
      if (each.want == Progress::refused) {
        EXPECT_EQ(reader.status(), each.status) << "pieces of " << piece;
      }
    }
  }
}

TEST(HttpRequestReader, ReturnsMethodPathAndQuery) {
  HttpRequestReader reader;
  ASSERT_EQ(reader.feed("GET http://a/readyz/store?verbose&exclude=x#f HTTP/1.1\r\n\r\n"), Progress::done);
  EXPECT_EQ(reader.request().method, "GET");
  EXPECT_EQ(reader.request().path, "/readyz/store");
  EXPECT_EQ(reader.request().query, "verbose&exclude=x");
  EXPECT_EQ(reader.feed("\x01"), Progress::done) << "nothing after the head is read";
  HttpRequestReader bare;
  ASSERT_EQ(bare.feed("GET http://a HTTP/1.1\r\n\r\n"), Progress::done);
  EXPECT_EQ(bare.request().path, "/");
}

TEST(HttpRequestReader, SurvivesAnyBytes) {
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = kRequests[random.below(std::size(kRequests))].bytes.substr(0, 300);
    for (std::uint64_t changes = random.below(6); changes > 0; --changes) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    HttpRequestReader reader(256);
    Progress progress = Progress::more;
    for (const char& c : bytes) progress = reader.feed({&c, 1});
    if (progress == Progress::refused) {
      EXPECT_GE(reader.status(), 400);
    }
    if (progress == Progress::done) {
      EXPECT_FALSE(reader.request().path.empty());
    }
  }
}

class HttpServerTest : public ::testing::Test {
 protected:
  class Quiet final : public Log {
   public:
    void write(Level, std::string_view, std::initializer_list<Field>) override {}
  };

  void start(const HttpServer::Options& options = {}) {
    server.emplace(context, clock, timers, log, options, [this](const HttpRequest& request) {
      ++asked;
      return HttpResponse{200, request.method + " " + request.path + "\n"};
    });
    ASSERT_TRUE(server->start().is_success());
  }
  // Runs the loop until it is idle.
  void work() {
    for (int idle = 0; idle < 3;) {
      context.restart();
      idle = context.run_for(std::chrono::milliseconds(1)) == 0 ? idle + 1 : 0;
    }
  }
  tcp::socket connect() {
    tcp::socket socket(client);
    socket.connect({asio::ip::make_address("127.0.0.1"), server->port()});
    socket.non_blocking(true);
    work();
    return socket;
  }
  void send(tcp::socket& socket, std::string_view bytes) {
    asio::error_code ignored;
    asio::write(socket, asio::buffer(bytes), ignored);
    work();
  }
  // What has arrived; `ended`: the other side has closed.
  std::string receive(tcp::socket& socket, bool* ended = nullptr) {
    std::string all(100'000, '\0');
    asio::error_code error;
    std::size_t length = 0;
    while (!error && length < all.size()) {
      length += socket.read_some(asio::buffer(all.data() + length, all.size() - length), error);
    }
    if (ended != nullptr) *ended = error != asio::error::would_block;
    return all.substr(0, length);
  }

  asio::io_context context, client;
  HandClock clock;
  Timers timers;
  Quiet log;
  std::optional<HttpServer> server;
  int asked = 0;
};

TEST_F(HttpServerTest, AnswersAndCloses) {
  start();
  tcp::socket socket = connect();
  send(socket, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  bool ended = false;
  const std::string answer = receive(socket, &ended);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Length: 7\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nGET /a\n"));
  EXPECT_TRUE(ended);
}

TEST_F(HttpServerTest, SendsNoBodyForHead) {
  start();
  tcp::socket socket = connect();
  send(socket, "HEAD /a HTTP/1.1\r\n\r\n");
  const std::string answer = receive(socket);
  EXPECT_NE(answer.find("Content-Length: 8\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, RefusesInvalidRequestsWithAReason) {
  start();
  tcp::socket socket = connect();
  send(socket, "hello\r\n\r\n");
  EXPECT_TRUE(receive(socket).starts_with("HTTP/1.1 400 "));
  tcp::socket poster = connect();
  send(poster, "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + std::string(60'000, 'x'));
  const std::string answer = receive(poster);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 "));
  EXPECT_NE(answer.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
  EXPECT_EQ(asked, 0);
}

TEST_F(HttpServerTest, DropsASlowClientAtItsDeadline) {
  HttpServer::Options options;
  options.connection_ms_max = 500;
  start(options);
  tcp::socket socket = connect();
  send(socket, "GET / HT");
  clock.now_ms += 499;
  timers.run_due(clock.now());
  bool ended = false;
  receive(socket, &ended);
  EXPECT_FALSE(ended);
  clock.now_ms += 1;
  timers.run_due(clock.now());
  work();
  EXPECT_EQ(receive(socket, &ended), "");
  EXPECT_TRUE(ended);
}

TEST_F(HttpServerTest, ANewConnectionReplacesTheOldest) {
  HttpServer::Options options;
  options.connections_max = 2;
  start(options);
  tcp::socket first = connect();
  tcp::socket second = connect();
  tcp::socket third = connect();
  bool ended = false;
  receive(first, &ended);
  EXPECT_TRUE(ended);
  receive(second, &ended);
  EXPECT_FALSE(ended);
  send(third, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(receive(third).starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, DropsConnectionsThatTheClientClosed) {
  HttpServer::Options options;
  options.connections_max = 2;
  start(options);
  tcp::socket waiting = connect();
  for (int i = 0; i < 5; ++i) {
    tcp::socket quick = connect();
    send(quick, "GET / HTTP/1.1\r\n\r\n");
    quick.close();
    work();
  }
  send(waiting, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(receive(waiting).starts_with("HTTP/1.1 200")) << "closed connections do not count against the limit";
  EXPECT_EQ(asked, 6);
}

TEST_F(HttpServerTest, StopsReadingAFloodAfterTheResponse) {
  start();
  tcp::socket socket = connect();
  send(socket, "GET / HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 40; ++i) send(socket, std::string(4096, 'x'));
  bool ended = false;
  receive(socket, &ended);
  asio::error_code error;
  asio::write(socket, asio::buffer("x", 1), error);
  EXPECT_TRUE(error) << "closed, long before its deadline";
}

TEST_F(HttpServerTest, ReportsAPortInUseAndAnInvalidAddress) {
  start();
  HttpServer::Options options;
  options.port = server->port();
  HttpServer other(context, clock, timers, log, options, [](const HttpRequest&) { return HttpResponse{}; });
  EXPECT_EQ(other.start().code(), Code::unschedulable);
  options.listen = "localhost";
  HttpServer named(context, clock, timers, log, options, [](const HttpRequest&) { return HttpResponse{}; });
  EXPECT_EQ(named.start().message(), "http.listen: expected an IP address such as 127.0.0.1, got \"localhost\"");
}

TEST_F(HttpServerTest, CanBeDestroyedWithOpenConnections) {
  start();
  tcp::socket socket = connect();
  server.reset();
  work();
  EXPECT_EQ(timers.next(), std::nullopt) << "all deadlines are cancelled";
  bool ended = false;
  receive(socket, &ended);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace berth
