// Versions of the protocol: their text, and which devices a gateway serves.
#include "core/handshake/protocol.h"

#include <gtest/gtest.h>

#include "core/handshake/messages.h"
#include "tests/one_message.h"

namespace berth {
namespace {

std::string version_in(const char* json) {
  const Json value = *Json::parse(json);
  const Result<ProtocolVersion> version = read_protocol(value.find("protocol"));
  return version ? to_text(*version) : version.error().message();
}

TEST(Protocol, AnAbsentVersionIsTheFirst) { EXPECT_EQ(version_in("{}"), "1.0"); }

TEST(Protocol, AVersionIsAMajorAndAMinorNumberInAString) {
  EXPECT_EQ(version_in(R"({"protocol":"1.1"})"), "1.1");
  EXPECT_EQ(version_in(R"({"protocol":"12.340"})"), "12.340");
  for (const char* wrong : {R"("1")", R"("0.9")", R"("1.")", R"(".1")", R"("1.1.1")", R"("01.1")", R"("a.b")", R"("")",
                            "1.1", "null", "{}", R"("4294967296.0")"}) {
    EXPECT_EQ(version_in((R"({"protocol":)" + std::string(wrong) + "}").c_str()),
              R"(protocol: must be "<major>.<minor>", such as "1.16")")
        << wrong;
  }
}

TEST(Protocol, AGatewayServesItsOwnMajorVersionAndTheOneBefore) {
  EXPECT_TRUE(serves({3, 0}, {3, 9}));
  EXPECT_TRUE(serves({3, 9}, {3, 0}));
  EXPECT_TRUE(serves({3, 0}, {2, 7}));
  EXPECT_FALSE(serves({3, 0}, {1, 9}));
  EXPECT_FALSE(serves({3, 9}, {4, 0}));
}

TEST(Protocol, WhatIsNotServedSaysWhichSideToUpgrade) {
  EXPECT_EQ(why_not_served({3, 1}, {2, 0}), "");
  EXPECT_EQ(why_not_served({3, 1}, {1, 0}),
            "its protocol 1.0 is not supported: this gateway speaks 3.1 and serves devices of 2 and 3; upgrade the "
            "device's agent");
  EXPECT_EQ(why_not_served({1, 1}, {2, 0}),
            "its protocol 2.0 is not supported: this gateway speaks 1.1 and serves devices of 1; upgrade the gateway");
}

TEST(Protocol, AListSaysTheVersionOfItsSender) {
  Request list(RequestType::list);
  list.gateway = "gw";
  list.gateway_id = {7, "store"};
  EXPECT_EQ(decode_request(encode(list))->protocol, (ProtocolVersion{1, 0}));
  list.protocol = {2, 5};
  EXPECT_EQ(decode_request(encode(list))->protocol, (ProtocolVersion{2, 5}));
  const Result<Request> wrong = decode_request(
      R"({"type":"List","gateway":"gw","term":"7","storeId":"s","floor":"7.1","page":0,"listId":"4","protocol":2})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message(), R"(protocol: must be "<major>.<minor>", such as "1.16")");
}

}  // namespace
}  // namespace berth
