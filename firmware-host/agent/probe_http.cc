#include "firmware-host/agent/probe_http.h"

#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

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
    : handler_(handler), is_hook_(is_hook), target_{host, handler.port, handler.path, handler.is_encrypted} {
  begin();
}

void HttpCheck::begin() {
  head_ = {};
  curl_.reset();
  connected_ = target_.is_encrypted;
  unsent_ = target_.is_encrypted ? std::string() : request();
  if (target_.is_encrypted) return begin_encrypted();
  const Result<int> fd = begin_connect(target_.host, target_.port);
  if (fd) return watch(*fd, POLLOUT);
  if (fd.error().code() != Code::pending) return fail(fd.error().message());
  end(ProbeResult::unknown, fd.error().message());
}

// What cannot be asked says nothing of the container, unless the container itself has led there.
void HttpCheck::begin_encrypted() {
  Result<std::unique_ptr<CurlGet>> started = CurlGet::start(handler_.https, url(), headers());
  if (!started && redirects_ > 0) return fail(started.error().message());
  if (!started) return end(ProbeResult::unknown, started.error().message());
  curl_ = std::move(*started);
  watch(curl_->release_head(), POLLIN);
}

// An empty value takes a header away that would be sent otherwise (request.go, setUserAgent and setAcceptHeader).
CurlGet::Headers HttpCheck::headers() const {
  const std::string* host = find_header(handler_, "Host");
  const std::string agent = std::string(is_hook_ ? "kube-lifecycle/" : "kube-probe/") + kVersion;
  CurlGet::Headers sent{
      {"Host", host != nullptr && !host->empty() ? *host : host_and_port(target_.host, target_.port)}};
  for (const auto& [name, otherwise] : {std::pair<const char*, std::string>{"User-Agent", agent}, {"Accept", "*/*"}}) {
    const std::string* own = find_header(handler_, name);
    if (own == nullptr || own->empty()) sent.emplace_back(name, own == nullptr ? otherwise : std::string());
  }
  for (const auto& [name, value] : handler_.headers) {
    const bool is_ours = strcasecmp(name.c_str(), "Host") == 0 || strcasecmp(name.c_str(), "Connection") == 0;
    const bool is_removal = value.empty() && (strcasecmp(name.c_str(), "User-Agent") == 0 ||  //
                                              strcasecmp(name.c_str(), "Accept") == 0);
    if (!is_ours && !is_removal) sent.emplace_back(name, value);
  }
  return sent;
}

std::string HttpCheck::request() const {
  std::string text = "GET " + target_.path + " HTTP/1.1\r\n";
  for (const auto& [name, value] : headers()) {
    const bool is_removed = value.empty() && (name == "User-Agent" || name == "Accept");
    if (!is_removed) text += name + ": " + value + "\r\n";
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

bool HttpCheck::read_response() {
  std::array<char, 8192> part;
  const ssize_t n = read(fd(), part.data(), part.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n < 0) {
    fail(std::string("read: ") + std::strerror(errno));
  } else if (n == 0 && curl_) {
    watch(-1, 0);  // with its end it says why
  } else if (n == 0) {
    fail("EOF");
  } else {
    head_.feed({part.data(), static_cast<std::size_t>(n)});
    if (!head_.fault().empty()) {
      fail(head_.fault());
    } else if (head_.is_complete()) {
      judge();
    }
  }
  return true;
}

bool HttpCheck::on_exit(pid_t pid, int /*wait_status*/) {
  if (!curl_ || !curl_->take_exit(pid)) return false;
  const int redirects = redirects_;
  while (fd() >= 0 && redirects_ == redirects && read_response()) continue;
  if (!outcome() && redirects_ == redirects) fail(curl_->why());
  return true;
}

void HttpCheck::judge() {
  if (is_redirect(head_)) {
    const Redirection to = redirect(target_, head_.location());
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

std::string HttpCheck::url() const {
  return (target_.is_encrypted ? "https://" : "http://") + host_and_port(target_.host, target_.port) + target_.path;
}

}  // namespace berth
