// The checks of probes, against real servers.
#include "firmware-host/agent/probe_check.h"

#include <poll.h>

#include <cstdlib>

#include "tests/unit/host/probe_server.h"

namespace berth {
namespace {

constexpr int kPollMs = 20'000;

HandlerPlan get(int port, const std::string& path = "/") {
  HandlerPlan plan;
  plan.kind = HandlerPlan::Kind::http_get;
  plan.port = port;
  plan.path = path;
  return plan;
}

HandlerPlan tcp(int port) {
  HandlerPlan plan;
  plan.kind = HandlerPlan::Kind::tcp_socket;
  plan.port = port;
  return plan;
}

// Until the check has ended, or nothing happens for `patience`.
CheckOutcome outcome_of(const HandlerPlan& handler, int patience = kPollMs, bool is_hook = false) {
  ProcessStarter starter("test/n/u/1.1");
  const ContainerPlan container;
  const std::unique_ptr<Check> check = begin_check(handler, {starter, container, is_hook});
  while (!check->outcome()) {
    pollfd ready{check->fd(), check->events(), 0};
    if (poll(&ready, 1, patience) != 1) return {ProbeResult::unknown, check->timed_out(patience)};
    check->on_ready();
  }
  return *check->outcome();
}

void answer(int fd) {
  const std::string request = ProbeServer::request(fd);
  if (request.starts_with("GET /redirected ")) {
    ProbeServer::send(fd, "HTTP/1.1 302 Found\r\nLocation: /bad\r\n\r\n");
  } else if (request.starts_with("GET /elsewhere ")) {
    ProbeServer::send(fd, "HTTP/1.1 302 Found\r\nLocation: http://example.org/bad\r\n\r\n");
  } else if (request.starts_with("GET /round ")) {
    ProbeServer::send(fd, "HTTP/1.1 307 Again\r\nLocation: /round\r\n\r\n");
  } else if (request.starts_with("GET /headers ")) {
    const bool is_right = request.contains("\r\nUser-Agent: kube-probe/1.35\r\n") &&
                          request.contains("\r\nAccept: */*\r\n") && request.contains("\r\nX-Own: a b\r\n") &&
                          request.contains("\r\nHost: web.example\r\n");
    ProbeServer::send(fd, is_right ? "HTTP/1.1 200 OK\r\n\r\n" : "HTTP/1.1 400 Bad\r\n\r\n");
  } else {
    ProbeServer::send(
        fd, request.starts_with("GET /ok ") ? "HTTP/1.1 399 Fine\r\nA: b\r\n\r\nbody" : "HTTP/1.1 500 Bad\r\n\r\nbody");
  }
}

void send_endless_header(int fd) {
  ProbeServer::request(fd);
  ProbeServer::send(fd, "HTTP/1.1 200 OK\r\n");
  while (ProbeServer::send(fd, "X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")) continue;
}

TEST(HttpCheck, SucceedsWithAStatusFrom200To399) {
  const ProbeServer server(answer);
  EXPECT_EQ(outcome_of(get(server.port(), "/ok")).result, ProbeResult::success);
  const CheckOutcome bad = outcome_of(get(server.port(), "/bad"));
  EXPECT_EQ(bad.result, ProbeResult::failure);
  EXPECT_EQ(bad.why, "HTTP probe failed with statuscode: 500");
  EXPECT_EQ(outcome_of(get(server.port(), "/bad"), kPollMs, true).result, ProbeResult::success)
      << "of a hook any answer is one";
}

TEST(HttpCheck, FollowsRedirectsOnTheSameHostOnly) {
  const ProbeServer server(answer);
  EXPECT_EQ(outcome_of(get(server.port(), "/redirected")).why, "HTTP probe failed with statuscode: 500");
  EXPECT_EQ(outcome_of(get(server.port(), "/elsewhere")).result, ProbeResult::success);
  EXPECT_TRUE(outcome_of(get(server.port(), "/round")).why.ends_with("/round\": stopped after 10 redirects"));
}

TEST(HttpCheck, SendsTheHeadersOfTheKubeletAndThoseOfTheManifest) {
  const ProbeServer server(answer);
  HandlerPlan plan = get(server.port(), "/headers");
  plan.headers = {{"X-Own", "a b"}, {"Host", "web.example"}};
  EXPECT_EQ(outcome_of(plan).result, ProbeResult::success);
}

TEST(HttpCheck, DoesNotReadAnEndlessHeader) {
  const ProbeServer server(send_endless_header);
  const CheckOutcome outcome = outcome_of(get(server.port()));
  EXPECT_EQ(outcome.result, ProbeResult::failure);
  EXPECT_TRUE(outcome.why.ends_with("server response headers exceeded 262144 bytes")) << outcome.why;
}

TEST(HttpCheck, WaitsForAServerThatNeverAnswersUntilItIsCut) {
  const ProbeServer server(nullptr);
  EXPECT_TRUE(outcome_of(get(server.port()), 10).why.contains("context deadline exceeded"));
}

TEST(HttpCheck, FailsWhereNobodyListensOrTheServerHangsUp) {
  ProbeServer server([](int fd) { ProbeServer::request(fd); });
  EXPECT_TRUE(outcome_of(get(server.port())).why.ends_with(": EOF"));
  server.end();
  const CheckOutcome refused = outcome_of(get(server.port()));
  EXPECT_EQ(refused.result, ProbeResult::failure);
  EXPECT_TRUE(refused.why.ends_with("connect: Connection refused")) << refused.why;
}

TEST(ExecCheck, KeepsTheBeginningOfALongOutputAndLetsTheCommandGoOn) {
  ProcessStarter starter("test/n/u/1.1");
  ContainerPlan container;
  container.directory = "/";
  container.env = {std::string("PATH=") + std::getenv("PATH")};
  HandlerPlan plan;
  plan.command = {"sh", "-c", "yes | head -c 1000000; exit 3"};
  const std::unique_ptr<Check> check = begin_check(plan, {starter, container, false});
  while (check->fd() >= 0) {
    pollfd ready{check->fd(), check->events(), 0};
    ASSERT_EQ(poll(&ready, 1, kPollMs), 1);
    check->on_ready();
  }
  int status = 0;
  const pid_t pid = waitpid(-1, &status, 0);
  ASSERT_GT(pid, 0);
  EXPECT_FALSE(check->on_exit(pid + 1, status)) << "of another process";
  EXPECT_TRUE(check->on_exit(pid, status));
  EXPECT_EQ(check->outcome()->result, ProbeResult::failure);
  EXPECT_EQ(check->outcome()->why.size(), std::size_t{10 * 1024});
}

TEST(TcpCheck, GoesToTheHostThatItNames) {
  const ProbeServer server(nullptr);
  HandlerPlan plan = tcp(server.port());
  plan.host = "::1";
  // Nobody listens there; where there is no IPv6, it cannot be reached.
  const CheckOutcome refused = outcome_of(plan);
  EXPECT_EQ(refused.result, ProbeResult::failure);
  EXPECT_TRUE(refused.why.starts_with("dial tcp [::1]:" + std::to_string(server.port()) + ": ")) << refused.why;
}

TEST(TcpCheck, SucceedsIfThePortTakesConnections) {
  ProbeServer server(nullptr);
  EXPECT_EQ(outcome_of(tcp(server.port())).result, ProbeResult::success);
  server.end();
  const CheckOutcome refused = outcome_of(tcp(server.port()));
  EXPECT_EQ(refused.result, ProbeResult::failure);
  EXPECT_EQ(refused.why, "dial tcp 127.0.0.1:" + std::to_string(server.port()) + ": connect: Connection refused");
}

}  // namespace
}  // namespace berth
