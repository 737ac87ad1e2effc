// HttpRequestReader: parses the head of one HTTP/1.x request. Only GET and HEAD are served, so a body is never read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace berth {

struct HttpRequest {
  std::string method;
  std::string path;   // "/readyz", as sent, without percent-decoding
  std::string query;  // "verbose&exclude=store", without '?'
};

class HttpRequestReader {
 public:
  enum class Progress { more, done, refused };

  explicit HttpRequestReader(std::size_t bytes_max = 8192);
  ~HttpRequestReader();
  HttpRequestReader(const HttpRequestReader&) = delete;
  HttpRequestReader& operator=(const HttpRequestReader&) = delete;

  // Takes the next bytes, in pieces of any size. After done or refused it keeps returning that.
  Progress feed(std::string_view bytes);
  // When done.
  const HttpRequest& request() const;
  // When refused: 400 not HTTP, 405 another method, 431 longer than bytes_max, 505 another version.
  int status() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth
