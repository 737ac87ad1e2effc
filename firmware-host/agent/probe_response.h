// What a probe reads of an HTTP response: the status and where it redirects to. Whatever the server sends, it keeps a
// few KiB. And where a redirect leads. No socket.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

class HttpResponseHead {
 public:
  static constexpr std::size_t kHeadBytesMax = 256 * 1024;  // a server that sends more of it is told as broken
  static constexpr std::size_t kLineBytesMax = 4096;        // what is beyond it in a line is not kept

  // The next bytes; those behind the head are ignored.
  void feed(std::string_view bytes);

  bool is_complete() const { return complete_; }
  // Why it is no response; empty: so far it is one.
  const std::string& fault() const { return fault_; }
  int status() const { return status_; }
  const std::string& location() const { return location_; }

 private:
  void end_line();

  std::string line_;
  std::size_t taken_ = 0;
  int status_ = 0;  // 0: its line has not ended yet
  std::string location_;
  std::string fault_;
  bool complete_ = false;
};

// Where a request goes.
struct HttpTarget {
  std::string host;
  int port = 0;
  std::string path;
  bool is_encrypted = false;
  bool operator==(const HttpTarget&) const = default;
};

enum class Redirect {
  follow,    // it stays on the host
  elsewhere  // another host: not followed, and a success (pkg/probe/http/http.go, RedirectChecker)
};

struct Redirection {
  Redirect kind = Redirect::elsewhere;
  HttpTarget target;  // follow
};

// Whether the response is one that Go's net/http follows.
bool is_redirect(const HttpResponseHead& head);
Redirection redirect(const HttpTarget& from, std::string_view location);

}  // namespace berth
