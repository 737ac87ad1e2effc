// A real broker for tests: a mosquitto process in its own directory, which ends with the test.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace berth {

class TempDir {
 public:
  TempDir() : path_((std::filesystem::temp_directory_path() / "berth-test-XXXXXX").string()) {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A loopback port that was free a moment ago.
inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

class MosquittoChild {
 public:
  // `settings`: further lines of mosquitto.conf.
  MosquittoChild(const TempDir& directory, int port, const std::string& settings)
      : config_(directory.file("mosquitto.conf")), log_(directory.file("mosquitto.log")) {
    std::ofstream(config_) << "listener " << port << " 127.0.0.1\n"
                           << (getuid() == 0 ? "user root\n" : "") << "persistence false\n"
                           << settings;
    start();
  }
  ~MosquittoChild() { stop(SIGKILL); }
  MosquittoChild(const MosquittoChild&) = delete;
  MosquittoChild& operator=(const MosquittoChild&) = delete;

  void start() {
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (std::freopen(log_.c_str(), "a", stderr) == nullptr) _exit(126);
    execlp("mosquitto", "mosquitto", "-c", config_.c_str(), nullptr);
    execl("/usr/sbin/mosquitto", "mosquitto", "-c", config_.c_str(), nullptr);
    _exit(127);
  }
  void stop(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  pid_t pid() const { return pid_; }

 private:
  std::string config_;
  std::string log_;
  pid_t pid_ = -1;
};

}  // namespace berth
