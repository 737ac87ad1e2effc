// What a probe reads of an HTTP response, and where redirects lead.
#include "firmware-host/agent/probe_response.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

HttpResponseHead head_of(const std::string& text) {
  HttpResponseHead head;
  for (const char c : text) head.feed({&c, 1});  // however it is cut
  return head;
}

TEST(HttpResponseHead, HasTheStatusOfAResponseOnceItsHeadersHaveEnded) {
  HttpResponseHead head = head_of("HTTP/1.1 204 No Content\r\nA: b\r\n");
  EXPECT_FALSE(head.is_complete());
  head.feed("\r\nbody HTTP/1.1 500\r\n\r\n");
  EXPECT_TRUE(head.is_complete());
  EXPECT_EQ(head.status(), 204);
  EXPECT_EQ(head_of("HTTP/1.0 503\n\n").status(), 503) << "no reason, and plain line ends";
}

TEST(HttpResponseHead, PassesOverInterimResponses) {
  const HttpResponseHead head = head_of("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
  EXPECT_TRUE(head.is_complete());
  EXPECT_EQ(head.status(), 200);
}

TEST(HttpResponseHead, SaysWhatIsNoResponse) {
  for (const char* text : {"SSH-2.0-x\r\n", "HTTP/1.1 abc\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2000\r\n", "\r\n"}) {
    EXPECT_TRUE(head_of(text).fault().starts_with("malformed HTTP response")) << text;
  }
}

TEST(HttpResponseHead, EndsAnEndlessHeadAndKeepsLittleOfIt) {
  HttpResponseHead head;
  head.feed("HTTP/1.1 200 OK\r\nX: ");
  const std::string piece(10'000, 'x');
  int pieces = 0;
  while (head.fault().empty() && pieces < 1000) {
    head.feed(piece);
    ++pieces;
  }
  EXPECT_EQ(head.fault(), "server response headers exceeded 262144 bytes");
  EXPECT_FALSE(head.is_complete());
}

TEST(Redirect, StaysOnTheHostOrIsNotFollowed) {
  const HttpTarget from{"127.0.0.1", 8080, "/a/b?c"};
  const auto path = [&](const char* location) {
    const Redirection to = redirect(from, location);
    EXPECT_EQ(to.kind, Redirect::follow) << location;
    return to.target.host + ":" + std::to_string(to.target.port) + to.target.path;
  };
  EXPECT_EQ(path("/x"), "127.0.0.1:8080/x");
  EXPECT_EQ(path("y?z#f"), "127.0.0.1:8080/a/y?z");
  EXPECT_EQ(path("?q"), "127.0.0.1:8080/a/b?q");
  EXPECT_EQ(path("http://127.0.0.1:9090/x"), "127.0.0.1:9090/x");
  EXPECT_EQ(path("//127.0.0.1"), "127.0.0.1:80/");
  EXPECT_EQ(redirect(from, "http://example.org/x").kind, Redirect::elsewhere);
  EXPECT_EQ(redirect(from, "https://example.org/x").kind, Redirect::elsewhere);
  EXPECT_EQ(redirect(from, "mailto:x@example.org").kind, Redirect::elsewhere);
  EXPECT_EQ(redirect(from, "https://127.0.0.1/x").target, (HttpTarget{"127.0.0.1", 443, "/x", true}));
  EXPECT_EQ(redirect({"::1", 443, "/", true}, "/x").target, (HttpTarget{"::1", 443, "/x", true}));
  EXPECT_EQ(redirect({"::1", 443, "/", true}, "//[::1]/x").target, (HttpTarget{"::1", 443, "/x", true}));
  EXPECT_EQ(redirect({"::1", 443, "/", true}, "http://[::1]/x").target, (HttpTarget{"::1", 80, "/x"}));
  EXPECT_EQ(redirect({"::1", 80, "/"}, "http://[::1]:81/x").target, (HttpTarget{"::1", 81, "/x"}));
}

TEST(Redirect, IsOneOnlyWithALocation) {
  EXPECT_TRUE(is_redirect(head_of("HTTP/1.1 302 Found\r\nLOCATION:  /x \r\n\r\n")));
  EXPECT_EQ(head_of("HTTP/1.1 302 Found\r\nLOCATION:  /x \r\n\r\n").location(), "/x");
  EXPECT_FALSE(is_redirect(head_of("HTTP/1.1 302 Found\r\n\r\n")));
  EXPECT_FALSE(is_redirect(head_of("HTTP/1.1 304 Not Modified\r\nLocation: /x\r\n\r\n")));
}

}  // namespace
}  // namespace berth
