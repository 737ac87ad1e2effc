#include "core/json/field_reader.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

using Texts = std::vector<std::string>;

TEST(FieldReader, ReportsExpectedAndActualValueAndFix) {
  const Json json =
      parsed_json(R"({"s":5,"b":"true","i":"5","i2":5000000000,"l":{},"m":{"k":true},"o":[1],"w":"Neverr"})");
  Findings findings;
  FieldReader reader(json, "spec", findings);
  std::string s;
  bool b = false;
  std::int32_t i = 0;
  std::vector<std::string> list;
  std::map<std::string, std::string> strings;
  EXPECT_FALSE(reader.read_string("s", s));
  EXPECT_FALSE(reader.read_bool("b", b));
  EXPECT_FALSE(reader.read_int32("i", i));
  EXPECT_FALSE(reader.read_int32("i2", i));
  EXPECT_FALSE(reader.read_list("l", list));
  EXPECT_FALSE(reader.read_strings("m", strings));
  EXPECT_TRUE(reader.read_object("o", [](FieldReader&) {}));
  EXPECT_FALSE(reader.read_enum("w", {"Always", "Never"}, s));
  reader.finish();
  EXPECT_EQ(findings.status().reasons(),
            (Texts{
                "spec.s: expected a string, got 5; put it in quotes",
                "spec.b: expected true or false, got \"true\"; write it without quotes",
                "spec.i: expected an integer from -2147483648 to 2147483647, got \"5\"; write a number, without quotes",
                "spec.i2: expected an integer from -2147483648 to 2147483647, got 5000000000",
                "spec.l: expected a list, got an object; write it in [ ]",
                "spec.m.k: expected a string, got true; put it in quotes",
                "spec.o: expected an object, got a list",
                "spec.w: expected one of Always, Never, got \"Neverr\"; did you mean Never?",
            }));
}

TEST(FieldReader, LeavesOutputUnchangedForAbsentAndNullFields) {
  const Json json = parsed_json(R"({"a":null})");
  Findings findings;
  FieldReader reader(json, "", findings);
  std::string text = "before";
  EXPECT_FALSE(reader.read_string("a", text));
  EXPECT_FALSE(reader.read_string("b", text));
  EXPECT_EQ(text, "before");
  reader.finish();
  EXPECT_TRUE(findings.status().is_success());
  EXPECT_TRUE(findings.warnings().empty());
  EXPECT_FALSE(reader.require("b", "a string"));
  EXPECT_EQ(findings.status().message(), "b: missing; expected a string");
}

TEST(FieldReader, WarnsAboutUnknownFieldsOrRefusesThem) {
  const Json json = parsed_json(R"({"imagee":"x","zzz":1,"o":{"naem":1},"carried":1})");
  const auto read = [&](Findings& findings) {
    FieldReader reader(json, "c", findings);
    std::string text;
    reader.read_string("image", text);
    reader.read_object("o", [&](FieldReader& o) { o.read_string("name", text); });
    reader.carry({"carried"});
    reader.finish();
  };
  const Texts want{"c.o.naem: unknown field; did you mean name?", "c.imagee: unknown field; did you mean image?",
                   "c.zzz: unknown field"};
  Findings lenient;
  read(lenient);
  EXPECT_TRUE(lenient.status().is_success());
  EXPECT_EQ(lenient.warnings(), want);
  Findings strict(Findings::Unknown::refuse);
  read(strict);
  EXPECT_TRUE(strict.warnings().empty());
  EXPECT_EQ(strict.status().reasons(), want);
}

TEST(FieldReader, QuotesKeysWithSpecialCharacters) {
  EXPECT_EQ(member_path("", "spec"), "spec");
  EXPECT_EQ(member_path("metadata.labels", "a.b/c"), "metadata.labels[\"a.b/c\"]");
  EXPECT_EQ(item_path("spec.containers", 2), "spec.containers[2]");
  EXPECT_EQ(member_path("x", std::string(1000, 'k')).size(), 1 + 64 + 3 + 4u);
}

TEST(FieldReader, ReadsInt64FromNumbersAndDigits) {
  const Json json = parsed_json(R"({"a":5,"b":"9223372036854775807","c":"5x","d":"","e":-1,"f":1.5})");
  Findings findings;
  FieldReader reader(json, "", findings);
  std::int64_t n = 0;
  EXPECT_TRUE(reader.read_int64("a", n));
  EXPECT_EQ(n, 5);
  EXPECT_TRUE(reader.read_int64("b", n));
  EXPECT_EQ(n, 9223372036854775807);
  for (const char* key : {"c", "d", "f"}) EXPECT_FALSE(reader.read_int64(key, n)) << key;
  EXPECT_FALSE(reader.read_int64("e", n, 0));
  EXPECT_EQ(findings.status().reasons().back(), "e: expected an integer from 0 to 9223372036854775807, got -1");
}

TEST(FieldReader, AcceptsRuleViolationsWhenRulesAreOff) {
  const Json json = parsed_json(R"({"n":7,"big":5000000000,"name":"A!"})");
  Findings findings(Rules::off);
  FieldReader reader(json, "", findings);
  std::int32_t n = 0;
  EXPECT_TRUE(reader.read_int32("n", n, 1, 5));
  EXPECT_EQ(n, 7);
  EXPECT_FALSE(reader.read_int32("big", n));
  std::string name;
  const auto is_web = [](std::string_view text) { return text == "web"; };
  EXPECT_TRUE(reader.read_checked("name", name, is_web, "web"));
  EXPECT_EQ(name, "A!");
  EXPECT_FALSE(reader.require("absent", "anything"));
  EXPECT_EQ(findings.status().reasons(),
            (std::vector<std::string>{"big: expected an integer from -2147483648 to 2147483647, got 5000000000"}));
}

TEST(FieldReader, OfAForeignDocumentTellsTheFirstErrorAndNothingOfWhatIsUnknown) {
  const Json json = parsed_json(R"({"a":1,"b":2,"other":3,"o":{"more":4}})");
  Findings findings(Findings::Bounds{});
  FieldReader reader(json, "", findings);
  std::string text;
  reader.read_object("o", [](FieldReader&) {});
  EXPECT_FALSE(findings.has_errors());
  EXPECT_FALSE(reader.read_string("b", text));
  EXPECT_FALSE(reader.read_string("a", text));
  reader.finish();
  EXPECT_EQ(findings.status().reasons(), Texts{"b: expected a string, got 2; put it in quotes"});
  EXPECT_TRUE(findings.warnings().empty());
}

TEST(FieldReader, TakesNothingThatIsLongerThanTheBounds) {
  const Json json = parsed_json(R"({"s":"12345","l":["a","b","c"],"m":{"a":"","b":"","c":""},"e":[{},{},{}],
      "in_list":["12345"],"in_map":{"k":"12345"},"in_keys":{"12345":{}},"fits":{"1234":{},"b":{}}})");
  const auto error_of = [&](auto read) {
    Findings findings(Findings::Bounds{.entries = 2, .bytes = 4});
    FieldReader reader(json, "", findings);
    EXPECT_FALSE(read(reader));
    return findings.status().message();
  };
  std::string text;
  Texts list;
  std::map<std::string, std::string> strings;
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_string("s", text); }),
            "s: expected a string of at most 4 bytes, got 5");
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_list("l", list); }),
            "l: expected at most 2 entries, got 3");
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_strings("m", strings); }),
            "m: expected at most 2 entries, got 3");
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_keys("m", list); }),
            "m: expected at most 2 entries, got 3");
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_each("e", [](FieldReader&) {}); }),
            "e: expected at most 2 entries, got 3");
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_list("in_list", list); }),
            "in_list[0]: expected a string of at most 4 bytes, got 5");
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_strings("in_map", strings); }),
            "in_map.k: expected a string of at most 4 bytes, got 5");
  EXPECT_EQ(error_of([&](auto& reader) { return reader.read_keys("in_keys", list); }),
            "in_keys: expected a string of at most 4 bytes, got 5");
  Findings findings(Findings::Bounds{.entries = 2, .bytes = 4});
  EXPECT_TRUE(FieldReader(json, "", findings).read_keys("fits", list));
  EXPECT_EQ(list, (Texts{"1234", "b"}));
}

TEST(Findings, KeepsTheFirstTwentyAndCountsTheRest) {
  Findings findings;
  for (int i = 0; i < 25; ++i) findings.error("f" + std::to_string(i), "bad");
  for (int i = 0; i < 21; ++i) findings.warn("f" + std::to_string(i), "odd");
  EXPECT_EQ(findings.status().reasons().size(), 21u);
  EXPECT_EQ(findings.status().reasons().back(), "and 5 more errors");
  EXPECT_EQ(findings.warnings().back(), "and 1 more warnings");
}

}  // namespace
}  // namespace berth
