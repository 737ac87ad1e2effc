#include "core/gateway/uploads.h"

#include <gtest/gtest.h>

#include "core/api/config_objects.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

class UploadsTest : public ::testing::Test {
 protected:
  Json part(const std::string& client, const std::string& id, int number, int count, const std::string& text) {
    Json upload = Json::object();
    upload.set("id", id).set("part", number).set("parts", count).set("text", text);
    return uploads_.take(upload, client, now_, [this](const std::string& whole) {
      applied_.push_back(whole);
      return parsed_json(R"({"ok":true,"result":"created"})");
    });
  }
  static std::string error_of(const Json& answer) { return answer.string_at("error"); }

  Uploads uploads_;
  Millis now_ = 1'000;
  std::vector<std::string> applied_;
};

TEST_F(UploadsTest, ArePutTogetherAndAppliedOnceHoweverOftenAPartComes) {
  EXPECT_EQ(part("op", "a", 0, 3, "one ").string_at("result"), "received");
  EXPECT_EQ(part("op", "a", 0, 3, "one ").string_at("result"), "received");
  EXPECT_EQ(part("op", "a", 1, 3, "two ").string_at("result"), "received");
  EXPECT_EQ(part("op", "a", 2, 3, "three").string_at("result"), "created");
  EXPECT_EQ(part("op", "a", 2, 3, "three").string_at("result"), "created");
  EXPECT_EQ(applied_, (std::vector<std::string>{"one two three"}));
}

TEST_F(UploadsTest, OfTwoClientsAreKeptApartAndANewOneReplacesTheOld) {
  part("a", "x", 0, 2, "a1");
  part("b", "x", 0, 2, "b1");
  part("a", "y", 0, 2, "a2");
  part("b", "x", 1, 2, "b2");
  part("a", "y", 1, 2, "a3");
  EXPECT_EQ(applied_, (std::vector<std::string>{"b1b2", "a2a3"}));
}

TEST_F(UploadsTest, OutOfOrderBeginAgain) {
  part("a", "x", 0, 3, "1");
  EXPECT_NE(error_of(part("a", "x", 2, 3, "3")).find("begin again"), std::string::npos);
  EXPECT_NE(error_of(part("a", "x", 1, 3, "2")).find("begin again"), std::string::npos);
}

TEST_F(UploadsTest, AreBoundedInNumberAndSizeAndEndInTime) {
  for (std::size_t i = 0; i < Uploads::kUploadsMax; ++i) part("client" + std::to_string(i), "x", 0, 2, "1");
  EXPECT_NE(error_of(part("another", "x", 0, 2, "1")).find("try again"), std::string::npos);
  now_ += Uploads::kPatienceMs + 1;
  EXPECT_EQ(part("another", "x", 0, 40, "1").string_at("result"), "received");
  const std::string large(60'000, 'l');
  std::string error;
  for (int i = 1; i < 40 && error.empty(); ++i) error = error_of(part("another", "x", i, 40, large));
  EXPECT_NE(error.find("more than " + std::to_string(kConfigTextMax)), std::string::npos);
  EXPECT_TRUE(applied_.empty());
}

TEST_F(UploadsTest, ThatAreFinishedMakeRoomForOthers) {
  part("done", "x", 0, 1, "whole");
  for (std::size_t i = 1; i < Uploads::kUploadsMax; ++i) part("client" + std::to_string(i), "x", 0, 2, "1");
  EXPECT_EQ(part("another", "x", 0, 2, "1").string_at("result"), "received");
  EXPECT_NE(error_of(part("one more", "x", 0, 2, "1")).find("try again"), std::string::npos);
}

TEST_F(UploadsTest, OfTheWrongFormAreRefused) {
  for (const char* text : {"{}", R"({"id":"a","part":0,"parts":1})", R"({"id":"a","part":1,"parts":1,"text":""})",
                           R"({"id":"a","part":0,"parts":65,"text":""})", R"({"id":"","part":0,"parts":1,"text":""})",
                           R"({"id":"a","part":0.5,"parts":1,"text":""})", "[]"}) {
    const Json answer = uploads_.take(parsed_json(text), "c", now_, [](const std::string&) { return Json(); });
    EXPECT_NE(error_of(answer).find("upload: expected"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace berth
