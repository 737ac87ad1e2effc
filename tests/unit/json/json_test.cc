#include "core/json/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/json/utf8.h"

namespace berth {
namespace {

std::string error_of(std::string_view text, Json::Limits limits = {}) {
  const Result<Json> json = Json::parse(text, limits);
  return json ? "accepted: " + json->dump() : json.error().message();
}

// True when the text is refused for a reason that contains `part`.
testing::AssertionResult refused(std::string_view text, std::string_view part, Json::Limits limits = {}) {
  const Result<Json> json = Json::parse(text, limits);
  if (json) return testing::AssertionFailure() << "accepted as " << json->dump().substr(0, 200);
  const std::string message = json.error().message();
  if (json.error().code() == Code::error && message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << message;
}

std::string round_trip(std::string_view text) {
  const Result<Json> json = Json::parse(text);
  return json ? json->dump() : json.error().message();
}

TEST(Json, ReadsAndWritesEveryTypeInOrder) {
  const std::string text = R"({"z":null,"a":[true,false,-1,0.5,"x"],"o":{}})";
  EXPECT_EQ(round_trip(text), text);
  EXPECT_EQ(round_trip(" { \"a\" : [ 1 , 2 ]\t}\r\n "), R"({"a":[1,2]})");
  EXPECT_EQ(round_trip("[]"), "[]");
  EXPECT_EQ(round_trip("\"lone\""), "\"lone\"");
}

// White space before it has the whole parser read it, whatever it is.
TEST(Json, ReadsASmallObjectOfPlainStringsLikeAnyOther) {
  for (const std::string text : {R"({"a":"x"})",
                                 R"({"incarnation":"i","sequence":"7","at":"1.2","answer":true,"b":false})",
                                 R"({"":""})",
                                 R"({"a":"x","a":"y"})",
                                 R"({"a":"x","A":"y"})",
                                 R"({"a":"x",})",
                                 R"({"a":"x"}})",
                                 R"({"a":"x"} )",
                                 R"({})",
                                 "{",
                                 R"({"a)",
                                 R"({"a")",
                                 R"({"a":)",
                                 R"({"a":"x)",
                                 R"({"a":"x")",
                                 R"({"a":tru})",
                                 R"({"a":truee})",
                                 R"({"a":nul})",
                                 R"({"a":null})",
                                 R"({"a":1})",
                                 R"({"a":"\n"})",
                                 R"({"a":"\true"})",
                                 R"({"\u0061":"x","a":"y"})",
                                 "{\"a\":\"\x01\"}",
                                 "{\"a\":\"\xc3\xa4\"}",
                                 "{\"a\":\"\xff\"}",
                                 R"({"a":"x" ,"b":"y"})",
                                 R"({"a":{"b":"c"}})",
                                 R"({,"a":"x"})"}) {
    const Result<Json> read = Json::parse(text), whole = Json::parse(" " + text);
    ASSERT_EQ(static_cast<bool>(read), static_cast<bool>(whole)) << text;
    if (read) {
      EXPECT_EQ(*read, *whole) << text;
    } else {
      EXPECT_FALSE(read.error().message().empty()) << text;
    }
  }
  EXPECT_TRUE(refused(R"({"a":"x"})", "the limit is 8", {.bytes = 8, .depth = 64}));
  EXPECT_TRUE(refused(R"({"a":"x"})", "nested deeper than 0 levels", {.bytes = 100, .depth = 0}));
}

TEST(Json, DistinguishesKeysByCase) {
  const Result<Json> json = Json::parse(R"({"A":2,"a":1})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("a")->as_int(), 1);
  EXPECT_EQ(json->find("A")->as_int(), 2);
  EXPECT_EQ(json->find("b"), nullptr);
}

TEST(Json, RefusesADuplicateKeyWithItsPath) {
  EXPECT_EQ(error_of(R"({"spec":{"containers":[{},{"name":"a","x":1,"name":"b"}]}})"),
            "spec.containers[1].name: duplicate key; keep one");
  EXPECT_EQ(error_of(R"({"a":1,"a":1})"), "a: duplicate key; keep one");
}

TEST(Json, RefusesIntegersBeyond2To53AndSuggestsQuotes) {
  EXPECT_EQ(round_trip("[9007199254740992,-9007199254740992]"), "[9007199254740992,-9007199254740992]");
  for (const char* text : {"9007199254740993", "-9007199254740993", "9007199254740992.5", "9223372036854775807", "1e16",
                           "1e400", "-1e400", "18446744073709551616"}) {
    EXPECT_TRUE(refused(std::string("{\"n\":") + text + "}", "write it as a string")) << text;
  }
  EXPECT_EQ(error_of(R"({"n":9007199254740993})"),
            "line 1 column 6: the number 9007199254740993 is beyond 2^53 and would lose digits; write it as a string, "
            "in quotes");
}

TEST(Json, ReadsTinyAndExponentialNumbers) {
  EXPECT_EQ(Json::parse("1e-400")->as_double(), 0.0);
  EXPECT_EQ(Json::parse("25e2")->as_int(), 2500);
  EXPECT_EQ(Json::parse("-0")->as_int(), 0);
  EXPECT_FALSE(Json::parse("0.1")->is_integer());
  EXPECT_EQ(round_trip("0.1"), "0.1");
}

TEST(Json, RefusesNumbersThatAreNotJson) {
  for (const char* text : {"01", "-01", "1.", ".5", "+1", "0x10", "1e", "1e+", "--1", "-", "1.2.3", "1a", "00"}) {
    EXPECT_FALSE(Json::parse(text)) << text;
    EXPECT_FALSE(Json::parse("[" + std::string(text) + "]")) << text;
  }
  EXPECT_TRUE(refused("[0x10]", "\"0x10\" is not a JSON number"));
  EXPECT_TRUE(refused("[NaN]", "line 1 column 2"));
  EXPECT_TRUE(refused("[Infinity]", "line 1 column 2"));
  EXPECT_TRUE(refused("[0." + std::string(80, '1') + "]", "more than 63 characters"));
}

TEST(Json, RefusesInvalidUtf8) {
  for (const char* text :
       {"\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xFF\"", "\"\xE2\x82\"", "\"\x80\""}) {
    EXPECT_TRUE(refused(text, "not valid UTF-8"));
  }
  EXPECT_EQ(round_trip("\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\""), "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  EXPECT_TRUE(refused("\xEF\xBB\xBF{}", "byte order mark"));
}

TEST(Json, RefusesControlCharactersAndNul) {
  EXPECT_TRUE(refused("\"a\tb\"", "line 1 column 3: a control character"));
  EXPECT_TRUE(refused("\"a\nb\"", "a control character"));
  EXPECT_TRUE(refused(R"("a\u0000b")", "NUL"));
  EXPECT_TRUE(refused(std::string_view("\"a\0b\"", 5), "a control character"));
  EXPECT_TRUE(refused(std::string_view("{}\0", 3), "line 1 column 3"));
  EXPECT_TRUE(refused("{\x01}", "line 1 column 2"));
  EXPECT_EQ(round_trip(R"("\u0001\n\t\r\b\f\/\\\"")"), R"("\u0001\n\t\r\u0008\u000c/\\\"")");
}

TEST(Json, ReadsEscapesAndRefusesInvalidOnes) {
  EXPECT_EQ(Json::parse(R"("\u00e9\ud83d\ude00")")->as_string(), "\xC3\xA9\xF0\x9F\x98\x80");
  for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")"}) {
    EXPECT_TRUE(refused(text, "surrogate")) << text;
  }
  EXPECT_TRUE(refused(R"("\u12")", "four hexadecimal"));
  EXPECT_TRUE(refused(R"("\u-123")", "four hexadecimal"));
  EXPECT_TRUE(refused(R"("\x41")", "invalid escape sequence"));
  EXPECT_TRUE(refused("\"\\", "closing quote"));
}

TEST(Json, RefusesInvalidStructureWithItsPosition) {
  EXPECT_TRUE(refused("", "empty"));
  EXPECT_TRUE(refused("  \n", "empty"));
  for (const char* text : {"{", "}", "[", "]", "[1,]", "{\"a\":}", "{\"a\" 1}", "{a:1}", "[1 2]", "{\"a\":1,}", "tru",
                           "nul", "\"open", "[1}", "'a'", ",", "{\"a\":1}}", "[]]"}) {
    EXPECT_TRUE(refused(text, "")) << text;
  }
  EXPECT_TRUE(refused("{\"a\":1}garbage", "line 1 column 8"));
  EXPECT_TRUE(refused("{\"a\":1} {}", "line 1 column 9: unexpected text after the end"));
  EXPECT_TRUE(refused("{\n  \"a\": yes\n}", "line 2 column 8"));
}

TEST(Json, LimitsSizeAndDepth) {
  const std::string large = "\"" + std::string(1024 * 1024, 'x') + "\"";
  EXPECT_EQ(error_of(large), "1048578 bytes of JSON, the limit is 65536");
  EXPECT_TRUE(Json::parse(large, {.bytes = 2 * 1024 * 1024}));
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(Json::parse(nested(64)));
  EXPECT_EQ(error_of(nested(65)), "line 1 column 65: nested deeper than 64 levels");
  EXPECT_TRUE(refused(std::string(60000, '['), "nested deeper"));
  std::string objects;
  for (int i = 0; i < 10000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(refused(objects, "nested deeper"));
  EXPECT_TRUE(refused(std::string(60000, ']'), ""));
}

TEST(Json, ReadsAnObjectOf10000Keys) {
  std::string text = "{";
  for (int i = 0; i < 10000; ++i) text += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const Result<Json> json = Json::parse(text, {.bytes = 1024 * 1024});
  ASSERT_TRUE(json);
  EXPECT_EQ(json->as_object().size(), 10000u);
  EXPECT_EQ(json->find("key9999")->as_int(), 9999);
  text.back() = ',';
  EXPECT_TRUE(refused(text + "\"key5000\":1}", "key5000: duplicate key", {.bytes = 1024 * 1024}));
}

TEST(Json, BuildsAndChangesValues) {
  Json json;
  json.set("a", 1).set("b", "x").set("a", std::int64_t{3});
  json.set("list", Json::array());
  json.find("list")->push_back(true);
  EXPECT_EQ(json.dump(), R"({"a":3,"b":"x","list":[true]})");
  json.erase("b");
  EXPECT_EQ(json.find("b"), nullptr);
  Json list;
  list.push_back("one");
  EXPECT_EQ(list.dump(), R"(["one"])");
  EXPECT_EQ(json, *Json::parse(R"({"a":3,"list":[true]})"));
  EXPECT_EQ(Json(5).find("a"), nullptr);
}

TEST(Json, WritesOnlyWhatItCanRead) {
  EXPECT_EQ(Json(std::string("a\xFFz\0b", 5)).dump(),
            "\"a\xEF\xBF\xBDz\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(std::int64_t{9007199254740992}).dump(), "9007199254740992");
}

TEST(JsonDeathTest, ChecksTypesAndIntegerRange) {
  EXPECT_DEATH(Json(std::int64_t{9007199254740993}), "");
  EXPECT_DEATH((void)Json("1").as_int(), "");
  EXPECT_DEATH((void)Json(0.5).as_int(), "");
  EXPECT_DEATH((void)Json(1).as_object(), "");
}

TEST(Utf8, ShortensBetweenCharacters) {
  EXPECT_EQ(shorten("abc", 3), "abc");
  EXPECT_EQ(shorten("a\xE2\x82\xAC"
                    "b",
                    3),
            "a...");
  EXPECT_EQ(shorten("abcd", 2), "ab...");
  EXPECT_TRUE(is_utf8("\xE2\x82\xAC"));
  EXPECT_FALSE(is_utf8("\xE2\x82"));
}

}  // namespace
}  // namespace berth
