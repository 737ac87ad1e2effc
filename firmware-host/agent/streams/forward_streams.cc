#include "firmware-host/agent/streams/forward_streams.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/check.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/probe_tcp.h"
#include "firmware-host/agent/streams/connection_source.h"
#include "firmware-host/agent/streams/running_pod.h"

namespace berth {

namespace {

// While it exists, sockets are made in the network of another process: they stay there.
class InNetworkOf {
 public:
  explicit InNetworkOf(pid_t process) {
    own_ = Descriptor(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    const Descriptor other(open(("/proc/" + std::to_string(process) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
    struct stat here{}, there{};
    if (!own_ || !other || fstat(own_.get(), &here) != 0 || fstat(other.get(), &there) != 0) {
      error_ = errno;
    } else if (here.st_ino != there.st_ino) {
      has_entered_ = setns(other.get(), CLONE_NEWNET) == 0;
      error_ = has_entered_ ? 0 : errno;
    }
  }
  // In the network of a pod the agent could do nothing of its own any more.
  ~InNetworkOf() {
    if (has_entered_) CHECK(setns(own_.get(), CLONE_NEWNET) == 0);
  }
  InNetworkOf(const InNetworkOf&) = delete;
  InNetworkOf& operator=(const InNetworkOf&) = delete;
  int error() const { return error_; }

 private:
  Descriptor own_;
  bool has_entered_ = false;
  int error_ = 0;
};

// A server may listen on one of the two addresses only. On loopback it is known at once that nobody listens; both at
// once would be two connections of a server that has both.
Result<int> connect_to(int port) {
  Result<int> begun = begin_connect("127.0.0.1", port);
  if (begun) {
    const Status so_far = end_connect(*begun);
    if (so_far.is_success()) return begun;
    close(*begun);
  }
  return begin_connect("::1", port);
}

}  // namespace

Result<OpenedStream> ForwardStreams::open(const ForwardQuery& query, std::function<void()> ready) {
  const Result<RunningPod> pod = find_running_pod(pods_, query.uid, query.pod);
  if (!pod) return pod.error();
  Result<int> socket = Status::error("");
  {
    const InNetworkOf network(pod->keeper);
    if (network.error() != 0) {
      return Status::error("the network of pod " + query.pod + " cannot be entered: " + std::strerror(network.error()));
    }
    socket = connect_to(query.port);
  }
  if (!socket) return Status::error("port " + std::to_string(query.port) + ": " + socket.error().message());
  return OpenedStream{.source = std::make_unique<ConnectionSource>(context_, *socket, std::move(ready)),
                      .takes_input = true};
}

}  // namespace berth
