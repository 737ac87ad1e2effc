// What bench_exchange measures the gateway against, in a process of its own, as it is on other machines in the field:
// an operator, and devices that answer at once.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace berth::bench {

struct Layout {
  std::size_t nodes = 0;
  std::size_t connections = 0;  // of the devices, which share them evenly
};

std::string uid_of(int number);
std::string manifest(int number);
// Of a plain request that the devices of a connection answer, with the request's payload, on kBareAnswer.
std::string bare_topic(std::size_t connection);
inline constexpr char kBareAnswer[] = "bare/answer";

[[noreturn]] void fail(const std::string& what);
// CPU that a process has used, in seconds.
double cpu_s_of(pid_t process);

class Fleet {
 public:
  // Begins the process, which connects to the broker; must be called before this process has threads.
  Fleet(int port, Layout layout);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  bool is_up() const;  // all are connected
  void apply(int first, int pods);
  // An operator begins, or ceases, to read from so many devices as fast as they send.
  void stream(int streams);
  std::uint64_t streamed() const;  // bytes that it has read
  pid_t process() const { return process_; }

 private:
  struct Shared;
  void send(const struct Command& command);

  Shared* shared_;
  int commands_ = -1;
  int streams_ = 0;
  pid_t process_ = -1;
};

}  // namespace berth::bench
