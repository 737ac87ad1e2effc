// Checks over TLS: a real curl and servers of the openssl program, whose certificate nobody has signed.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "firmware-host/agent/probe_check.h"
#include "firmware-host/agent/workload.h"
#include "tests/unit/host/probe_server.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr int kHttpsPollMs = 20'000;

// With -HTTP it sends the file that a request names, as it stands; without, what is written to it.
class TlsServer {
 public:
  TlsServer(const std::string& directory, std::vector<std::string> more) {
    std::vector<std::string> arguments{"openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "crt", "-key", "key"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::array<int, 2> in{}, out{};
    EXPECT_EQ(pipe2(in.data(), O_CLOEXEC) + pipe2(out.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      std::vector<char*> argv;
      for (std::string& each : arguments) argv.push_back(each.data());
      argv.push_back(nullptr);
      if (chdir(directory.c_str()) == 0) execvp("openssl", argv.data());
      _exit(1);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
    const std::string listening = read_until("\n", "ACCEPT 127.0.0.1:");
    port_ = std::atoi(listening.substr(listening.rfind(':') + 1).c_str());
  }
  ~TlsServer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(in_);
    close(out_);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  int port() const { return port_; }
  void write(const std::string& text) const {
    EXPECT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // What it prints, to the first `end` behind `mark`.
  std::string read_until(const std::string& end, const std::string& mark) const {
    std::string text;
    for (char c = 0; !text.contains(mark) || text.find(end, text.find(mark)) == std::string::npos; text += c) {
      if (::read(out_, &c, 1) != 1) break;
    }
    return text;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int port_ = 0;
};

class HttpsCheck : public testing::Test {
 protected:
  void SetUp() override {
    curl_ = find_program("curl", std::getenv("PATH"), "/");
    const bool has_openssl = !find_program("openssl", std::getenv("PATH"), "/").empty();
    if (curl_.empty() || !has_openssl) GTEST_SKIP() << "needs curl and the openssl program";
    std::string pattern = fs::temp_directory_path() / "berth-https-XXXXXX";
    root_ = mkdtemp(pattern.data());
    const std::string made = "cd " + root_ +
                             " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                             "-subj /CN=any -keyout key -out crt >/dev/null 2>&1";
    ASSERT_EQ(std::system(made.c_str()), 0);
  }
  ~HttpsCheck() override {
    if (!root_.empty()) fs::remove_all(root_);
  }

  HandlerPlan get(int port, const std::string& path) const {
    HandlerPlan plan;
    plan.kind = HandlerPlan::Kind::http_get;
    plan.port = port;
    plan.path = path;
    plan.is_encrypted = true;
    plan.https = {curl_, "test/n/u/1.1"};
    return plan;
  }
  void response(const std::string& name, const std::string& head) const {
    std::ofstream(root_ + "/" + name) << "HTTP/1.1 " << head << "\r\n\r\n";
  }
  CheckOutcome end_of(const HandlerPlan& handler, int patience = kHttpsPollMs) {
    const std::unique_ptr<Check> check = begin_check(handler, {starter_, container_, false});
    while (!check->outcome()) {
      pollfd ready{check->fd(), check->events(), 0};
      int status = 0;
      if (check->fd() < 0) {
        const pid_t ended = waitpid(-1, &status, 0);
        if (ended > 0) check->on_exit(ended, status);
      } else if (poll(&ready, 1, patience) == 1) {
        check->on_ready();
      } else {
        return {ProbeResult::unknown, check->timed_out(patience)};
      }
    }
    return *check->outcome();
  }

  ProcessStarter starter_{"test/n/u/1.1"};
  const ContainerPlan container_;
  std::string curl_;
  std::string root_;
};

TEST_F(HttpsCheck, VerifiesNoCertificateAndJudgesTheStatus) {
  const TlsServer server(root_, {"-HTTP"});
  response("ok", "204 Empty");
  response("bad", "500 Wrong");
  EXPECT_EQ(end_of(get(server.port(), "/ok")).result, ProbeResult::success);
  EXPECT_EQ(end_of(get(server.port(), "/bad")).why, "HTTP probe failed with statuscode: 500");
}

TEST_F(HttpsCheck, FollowsRedirectsOnTheSameHostOnlyAndFromPlainHttp) {
  const TlsServer server(root_, {"-HTTP"});
  response("bad", "500 Wrong");
  response("redirected", "302 Found\r\nLocation: /bad");
  response("elsewhere", "302 Found\r\nLocation: https://example.org/bad");
  response("round", "302 Found\r\nLocation: /round");
  EXPECT_EQ(end_of(get(server.port(), "/redirected")).why, "HTTP probe failed with statuscode: 500");
  EXPECT_EQ(end_of(get(server.port(), "/elsewhere")).result, ProbeResult::success);
  EXPECT_TRUE(end_of(get(server.port(), "/round")).why.ends_with("/round\": stopped after 10 redirects"));
  static std::string target;
  target = "https://127.0.0.1:" + std::to_string(server.port()) + "/bad";
  const ProbeServer plain([](int fd) {
    ProbeServer::request(fd);
    ProbeServer::send(fd, "HTTP/1.1 302 Found\r\nLocation: " + target + "\r\n\r\n");
  });
  HandlerPlan plan = get(plain.port(), "/");
  plan.is_encrypted = false;
  EXPECT_EQ(end_of(plan).why, "HTTP probe failed with statuscode: 500");
  plan.https.curl.clear();
  EXPECT_TRUE(end_of(plan).why.ends_with("there was no curl on this node when the pod was started"));
}

TEST_F(HttpsCheck, SendsTheHeadersOfTheKubeletAndThoseOfTheManifestButNotAsArguments) {
  const TlsServer server(root_, {});
  HandlerPlan plan = get(server.port(), "/a?b=[c]");
  plan.headers = {{"X-Own", R"(a "b" \c)"}, {"X-Empty", ""}, {"Host", "web.example"}, {"accept", ""}};
  const std::unique_ptr<Check> check = begin_check(plan, {starter_, container_, false});
  const std::string request = server.read_until("\r\n\r\n", "GET ");
  EXPECT_TRUE(request.contains("GET /a?b=[c] HTTP/1.1\r\n")) << request;
  for (const char* line : {"Host: web.example\r\n", "User-Agent: kube-probe/1.35\r\n", "X-Own: a \"b\" \\c\r\n"}) {
    EXPECT_TRUE(request.contains(line)) << line << request;
  }
  EXPECT_TRUE(request.contains("X-Empty:")) << request;
  EXPECT_FALSE(request.contains("Accept")) << request;
  int found = 0;
  std::ifstream children("/proc/thread-self/children");
  for (std::string child; children >> child;) {
    std::ifstream file("/proc/" + child + "/cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    found += line.starts_with("curl") ? 1 : 0;
    EXPECT_FALSE(line.contains("X-Own")) << line;
  }
  EXPECT_EQ(found, 1);
  server.write("HTTP/1.1 200 OK\r\n\r\n");
  pollfd ready{check->fd(), check->events(), 0};
  while (!check->outcome() && poll(&ready, 1, kHttpsPollMs) == 1) check->on_ready();
  EXPECT_EQ(check->outcome()->result, ProbeResult::success) << "though the body has not ended";
}

TEST_F(HttpsCheck, FailsWithTheReasonOfCurlWhereNobodyListensOrSpeaksTls) {
  ProbeServer plain([](int fd) { ProbeServer::send(fd, "HTTP/1.1 200 OK\r\n\r\n"); });
  const CheckOutcome no_tls = end_of(get(plain.port(), "/"));
  EXPECT_EQ(no_tls.result, ProbeResult::failure);
  EXPECT_TRUE(no_tls.why.starts_with("Get \"https://127.0.0.1:" + std::to_string(plain.port()) + "/\": "))
      << no_tls.why;
  plain.end();
  const CheckOutcome refused = end_of(get(plain.port(), "/"));
  EXPECT_EQ(refused.result, ProbeResult::failure);
  EXPECT_TRUE(refused.why.contains("onnect")) << refused.why;
}

TEST_F(HttpsCheck, EndsCurlWhenItIsCut) {
  const ProbeServer silent(nullptr);
  EXPECT_TRUE(end_of(get(silent.port(), "/"), 10).why.contains("context deadline exceeded"));
  int status = 0;
  while (waitpid(-1, &status, 0) > 0 && !WIFSIGNALED(status)) continue;
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace berth
