// ConfigMaps and Secrets in messages: what is written is read, and what is wrong is named.
#include "core/handshake/configs.h"

#include <gtest/gtest.h>

#include "core/handshake/messages.h"
#include "tests/one_message.h"

namespace berth {
namespace {

Request request_of(RequestType type) {
  Request request(type);
  request.gateway = "gw";
  request.gateway_id = {2, "store"};
  request.incarnation = "i1";
  request.uid = "u1";
  request.epoch = {2, 7};
  request.pod = R"({"metadata":{"uid":"u1"}})";
  request.promise_ms = 60'000;
  return request;
}

Answer lacks(std::vector<ConfigWish> wishes) {
  Answer answer(AnswerType::lacks);
  answer.incarnation = "i1";
  answer.gateway_id = {2, "store"};
  answer.wishes = std::move(wishes);
  return answer;
}

TEST(Configs, ContentsAreReadAsTheyWereWritten) {
  const ConfigContents contents{{{"a.conf", "k = \"v\"\n"}, {"b", std::string("\0\xFF", 2)}, {"empty", ""}}, true};
  const std::string text = encode(contents);
  const Result<ConfigContents> read = decode_contents(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->values, contents.values);
  EXPECT_TRUE(read->immutable);
  EXPECT_FALSE(decode_contents(encode(ConfigContents{}))->immutable);
  for (const char* wrong : {"", "{}", "[]", R"({"data":{"a":1}})", R"({"data":{"a":"%"}})"}) {
    EXPECT_FALSE(decode_contents(wrong)) << wrong;
  }
}

TEST(Configs, OfAMebibyteFitIntoTheirParts) {
  const std::string text = encode(ConfigContents{{{"k", std::string(1 << 20, 'v')}}, false});
  const std::vector<std::string_view> parts = config_parts(text);
  EXPECT_LE(text.size(), kConfigContentsMax);
  EXPECT_LE(parts.size(), kConfigPartsMax);
  std::string whole;
  for (const std::string_view part : parts) whole += part;
  EXPECT_EQ(whole, text);
  EXPECT_EQ(config_parts("").size(), 1u);
}

TEST(Configs, OfAPreBindCostNothingWhenThereAreNoneAndAreReadInBothForms) {
  Request request = request_of(RequestType::pre_bind);
  EXPECT_EQ(encode(request).find("configs"), std::string::npos);
  request.configs = {{Kind::config_map, "app", "h1"}, {Kind::secret, "tls", ""}};
  for (const char* via : {"", "n1"}) {
    request.via = via;
    const Result<Request> read = decode_request(encode(request));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->configs, request.configs);
  }
}

TEST(Configs, AreOfferedAndSentInParts) {
  Request offer = request_of(RequestType::configs);
  offer.position = 12;
  offer.configs = {{Kind::secret, "shop/tls", "h1"}};
  const Result<Request> offered = decode_request(encode(offer));
  ASSERT_TRUE(offered) << offered.error().message();
  EXPECT_EQ(offered->configs, offer.configs);
  EXPECT_EQ(offered->position, 12u);
  EXPECT_EQ(offered->uid, "");

  Request part = request_of(RequestType::config);
  part.config = {{Kind::secret, "shop/tls", "h1"}, 3, 5, R"({"data":)"};
  const Result<Request> sent = decode_request(encode(part));
  ASSERT_TRUE(sent) << sent.error().message();
  EXPECT_EQ(sent->config, part.config);
}

TEST(Configs, ThatAreLackingAreNamedWithThePartToGoOnFrom) {
  Answer answer = lacks({{{Kind::config_map, "shop/app", "h1"}, 2}, {{Kind::secret, "shop/tls", "h2"}, 0}});
  answer.uid = "u1";
  answer.epoch = {2, 7};
  const Result<Answer> read = decode_answer(encode(answer), "n1");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->wishes, answer.wishes);
  EXPECT_EQ(read->uid, "u1");
  Answer none = lacks({});
  none.position = 9;
  EXPECT_EQ(decode_answer(encode(none), "n1")->position, 9u);
}

TEST(Configs, OfTheWrongFormAreRefusedByTheNameOfTheField) {
  const auto error_of = [](Request request) {
    const Result<Request> read = decode_request(encode(request));
    return read ? std::string() : read.error().message();
  };
  Request pre_bind = request_of(RequestType::pre_bind);
  pre_bind.configs = {{Kind::config_map, "shop/app", "h1"}};
  EXPECT_NE(error_of(pre_bind).find("configs[0].name"), std::string::npos) << error_of(pre_bind);
  Request offer = request_of(RequestType::configs);
  offer.configs = {{Kind::config_map, "app", "h1"}};
  EXPECT_NE(error_of(offer).find("configs[0].name"), std::string::npos);
  offer.configs = std::vector<ConfigRef>(kConfigRefsMax + 1, {Kind::config_map, "a/b", "h"});
  EXPECT_NE(error_of(offer).find("at most"), std::string::npos);
  Request part = request_of(RequestType::config);
  part.config = {{Kind::config_map, "a/b", "h"}, 5, 5, "x"};
  EXPECT_NE(error_of(part).find("config.part"), std::string::npos);
  part.config = {{Kind::config_map, "a/b", ""}, 0, 1, "x"};
  EXPECT_NE(error_of(part).find("config.hash"), std::string::npos);
}

}  // namespace
}  // namespace berth
