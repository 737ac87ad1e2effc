#include "firmware-host/agent/probe_http.h"

#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "firmware-host/agent/probe_tcp.h"

namespace berth {

namespace {

constexpr int kRedirectsMax = 10;  // as Go's net/http, defaultCheckRedirect
constexpr const char* kVersion = "1.35";

const std::string* find_header(const HandlerPlan& handler, const char* name) {
  const auto found = std::find_if(handler.headers.begin(), handler.headers.end(),
                                  [&](const auto& header) { return strcasecmp(header.first.c_str(), name) == 0; });
  return found == handler.headers.end() ? nullptr : &found->second;
}

}  // namespace

HttpCheck::HttpCheck(const HandlerPlan& handler, const std::string& host, bool is_hook)
    : handler_(handler), is_hook_(is_hook), target_{host, handler.port, handler.path} {
  begin();
}

void HttpCheck::begin() {
  head_ = {};
  connected_ = false;
  unsent_ = request();
  const Result<int> fd = begin_connect(target_.host, target_.port);
  if (fd) return watch(*fd, POLLOUT);
  if (fd.error().code() != Code::pending) return fail(fd.error().message());
  end(ProbeResult::unknown, fd.error().message());
}

// An empty value takes a header away that would be sent otherwise (request.go, setUserAgent and setAcceptHeader).
std::string HttpCheck::request() const {
  const std::string* host = find_header(handler_, "Host");
  std::string text = "GET " + target_.path + " HTTP/1.1\r\nHost: ";
  text += host != nullptr && !host->empty() ? *host : host_and_port(target_.host, target_.port);
  text += "\r\n";
  if (find_header(handler_, "User-Agent") == nullptr) {
    text += std::string("User-Agent: ") + (is_hook_ ? "kube-lifecycle/" : "kube-probe/") + kVersion + "\r\n";
  }
  if (find_header(handler_, "Accept") == nullptr) text += "Accept: */*\r\n";
  for (const auto& [name, value] : handler_.headers) {
    const bool is_ours = strcasecmp(name.c_str(), "Host") == 0 || strcasecmp(name.c_str(), "Connection") == 0;
    const bool is_removal = value.empty() && (strcasecmp(name.c_str(), "User-Agent") == 0 ||  //
                                              strcasecmp(name.c_str(), "Accept") == 0);
    if (!is_ours && !is_removal) text += name + ": " + value + "\r\n";
  }
  return text + "Connection: close\r\n\r\n";
}

void HttpCheck::on_ready() {
  if (!connected_) {
    const Status connected = end_connect(fd());
    if (!connected.is_success()) return fail(connected.message());
    connected_ = true;
  }
  if (!unsent_.empty()) return send_request();
  read_response();
}

void HttpCheck::send_request() {
  const ssize_t sent = send(fd(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return fail(std::string("write: ") + std::strerror(errno));
  unsent_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  if (unsent_.empty()) watch_for(POLLIN);
}

void HttpCheck::read_response() {
  std::array<char, 8192> part;
  const ssize_t n = recv(fd(), part.data(), part.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) return fail(std::string("read: ") + std::strerror(errno));
  if (n == 0) return fail("EOF");
  head_.feed({part.data(), static_cast<std::size_t>(n)});
  if (!head_.fault().empty()) return fail(head_.fault());
  if (head_.is_complete()) judge();
}

void HttpCheck::judge() {
  if (is_redirect(head_)) {
    const Redirection to = redirect(target_, head_.location());
    if (to.kind == Redirect::encrypted && !is_hook_) {
      return fail("redirected to " + head_.location() + ", and HTTPS is not supported");
    }
    if (to.kind == Redirect::follow && redirects_ == kRedirectsMax) return fail("stopped after 10 redirects");
    if (to.kind == Redirect::follow) {
      ++redirects_;
      target_ = to.target;
      return begin();
    }
  }
  if (is_hook_ || (head_.status() >= 200 && head_.status() < 400)) return end(ProbeResult::success);
  end(ProbeResult::failure, "HTTP probe failed with statuscode: " + std::to_string(head_.status()));
}

void HttpCheck::fail(const std::string& why) { end(ProbeResult::failure, "Get \"" + url() + "\": " + why); }

std::string HttpCheck::timed_out(Millis /*after*/) const {
  return "Get \"" + url() + "\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
}

std::string HttpCheck::url() const { return "http://" + host_and_port(target_.host, target_.port) + target_.path; }

}  // namespace berth
