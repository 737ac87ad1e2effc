#include "core/placement/short_names.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Answer page_of(const std::string& name, const GatewayId& id = {7, "store"}, const std::string& incarnation = "i1") {
  Answer page(AnswerType::slots);
  page.node = "n1";
  page.gateway_id = id;
  page.incarnation = incarnation;
  page.answers_to = name;
  return page;
}

Request request_of(RequestType type, const Epoch& floor = {7, 3}) {
  Request request(type);
  request.gateway_id = {7, "store"};
  request.incarnation = "i1";
  request.epoch = {7, 9};
  request.floor = floor;
  return request;
}

Request shortened(ShortNames& names, Request request) {
  names.shorten("n1", request);
  return request;
}

TEST(ShortNames, AreUsedOnlyWhileTheyMeanTheSame) {
  ShortNames names;
  EXPECT_EQ(shortened(names, request_of(RequestType::bind)).via, "");
  names.note(page_of("name"));
  EXPECT_EQ(shortened(names, request_of(RequestType::bind)).via, "name");
  EXPECT_EQ(shortened(names, request_of(RequestType::release)).via, "");
  Request other = request_of(RequestType::bind);
  other.gateway_id.term = 8;  // P12: the term towards the node was raised
  EXPECT_EQ(shortened(names, other).via, "");
  other = request_of(RequestType::bind);
  other.gateway_id.store_id = "copy";
  EXPECT_EQ(shortened(names, other).via, "");
  other = request_of(RequestType::bind);
  other.incarnation = "i0";
  EXPECT_EQ(shortened(names, other).via, "") << "the store that this row is of is gone";
  names.forget("n1");
  EXPECT_EQ(shortened(names, request_of(RequestType::bind)).via, "");
}

TEST(ShortNames, AFloorIsToldOnceUnderAName) {
  ShortNames names;
  names.note(page_of("name"));
  EXPECT_TRUE(shortened(names, request_of(RequestType::bind)).floor == (Epoch{7, 3})) << "written of PreBind alone";
  EXPECT_EQ(shortened(names, request_of(RequestType::pre_bind)).floor, (Epoch{7, 3}));
  EXPECT_TRUE(shortened(names, request_of(RequestType::pre_bind)).floor.is_zero());
  EXPECT_EQ(shortened(names, request_of(RequestType::pre_bind, {7, 4})).floor, (Epoch{7, 4}));
  names.note(page_of("name"));
  EXPECT_TRUE(shortened(names, request_of(RequestType::pre_bind, {7, 4})).floor.is_zero());
  names.note(page_of("next"));
  EXPECT_EQ(shortened(names, request_of(RequestType::pre_bind, {7, 4})).floor, (Epoch{7, 4}));
}

TEST(ShortNames, AnAnswerIsOfTheTimeWhenItsNameWasSaid) {
  ShortNames names;
  names.note(page_of("name"));
  Answer bound(AnswerType::bound);
  bound.node = "n1";
  EXPECT_TRUE(names.complete(bound)) << "in full";
  bound.via = "name";
  bound.epoch = {0, 9};
  ASSERT_TRUE(names.complete(bound));
  EXPECT_EQ(bound.gateway_id, (GatewayId{7, "store"}));
  EXPECT_EQ(bound.incarnation, "i1");
  EXPECT_EQ(bound.epoch, (Epoch{7, 9}));
  bound.node = "n2";
  EXPECT_FALSE(names.complete(bound)) << "another one's name";
  bound.node = "n1";
  names.note(page_of("next", {7, "store"}, "i2"));
  EXPECT_FALSE(names.complete(bound));
  names.clear();
  bound.via = "next";
  EXPECT_FALSE(names.complete(bound));
}

TEST(ShortNames, AreShort) {
  ShortNames names;
  names.note(page_of(std::string(17, 'x')));
  EXPECT_EQ(shortened(names, request_of(RequestType::bind)).via, "");
}

}  // namespace
}  // namespace berth
