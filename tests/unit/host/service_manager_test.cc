#include "firmware-host/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

// Stands in for systemd: a datagram socket and three variables.
class ServiceManagerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (std::filesystem::temp_directory_path() / "berth-notify-XXXXXX").string();
    ASSERT_NE(::mkdtemp(form.data()), nullptr);
    directory_ = form;
    path_ = directory_ + "/notify";
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  }
  void TearDown() override {
    ::close(socket_);
    std::filesystem::remove_all(directory_);
  }
  // The next datagram; empty if there is none.
  std::string receive() const {
    char text[512];
    const ssize_t size = ::recv(socket_, text, sizeof(text), 0);
    return size < 0 ? "" : std::string(text, static_cast<std::size_t>(size));
  }
  std::string directory_, path_;
  int socket_ = -1;
  HandClock clock_;
  Timers timers_;
};

TEST_F(ServiceManagerTest, NotifiesReadyOnceStartedAndStoppingAtTheEnd) {
  ServiceManager manager(clock_, timers_);
  EXPECT_EQ(receive(), "");
  manager.ready("all well");
  EXPECT_EQ(receive(), "READY=1\nSTATUS=all well");
  manager.stopping();
  EXPECT_EQ(receive(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, NotifiesTheWatchdogAtTheEndOfTurnsEveryThirdOfItsTimeout) {
  ServiceManager manager(clock_, timers_);
  manager.ready("");
  receive();
  manager.turn_ended();
  EXPECT_EQ(receive(), "") << "too early";
  clock_.now_ms += 10'000;
  EXPECT_EQ(timers_.run_due(clock_.now_ms), 1) << "an idle loop runs a turn for the watchdog";
  EXPECT_EQ(receive(), "") << "the turn has not ended: its commit may hang";
  manager.turn_ended();
  EXPECT_EQ(receive(), "WATCHDOG=1");
  manager.turn_ended();
  EXPECT_EQ(receive(), "");
}

TEST_F(ServiceManagerTest, RemovesItsVariablesFromTheEnvironment) {
  ServiceManager manager(clock_, timers_);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) EXPECT_EQ(std::getenv(name), nullptr);
}

TEST_F(ServiceManagerTest, IgnoresAWatchdogForAnotherProcess) {
  ::setenv("WATCHDOG_PID", "1", 1);
  ServiceManager manager(clock_, timers_);
  manager.ready("");
  EXPECT_EQ(timers_.next(), std::nullopt);
}

TEST_F(ServiceManagerTest, IsSilentWithoutASocket) {
  ::unsetenv("NOTIFY_SOCKET");
  ServiceManager manager(clock_, timers_);
  manager.ready("");
  manager.turn_ended();
  EXPECT_EQ(timers_.next(), std::nullopt);
  EXPECT_EQ(receive(), "");
}

}  // namespace
}  // namespace berth
