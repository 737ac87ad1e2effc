#include "firmware-host/yaml.h"
#include "core/api/decode.h"
#include "core/api/pod.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

// The value of a single document as JSON, or the error.
std::string read(std::string_view text) {
  const Result<std::vector<YamlDocument>> documents = parse_yaml("f.yaml", text);
  if (!documents) return documents.error().message();
  if (documents->size() != 1) return std::to_string(documents->size()) + " documents";
  return documents->front().value.dump();
}

// Editors on Windows begin files with one.
TEST(Yaml, AByteOrderMarkAtTheBeginningOfAFileIsNoPartOfIt) {
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "a: 1\n"),
            R"({"a":1})");
  EXPECT_EQ(read("\xef\xbb\xbf"
                 R"({"a":1})"),
            R"({"a":1})");
  EXPECT_TRUE(read("\xef\xbb\xbf"
                   "a: 1\na: 2\n")
                  .starts_with("f.yaml:2:1: "))
      << "places are those of the text";
}

TEST(Yaml, ReadsScalarsByTheCoreSchema) {
  struct Case {
    const char* yaml;
    const char* json;
  };
  const Case cases[] = {
      {"[null, Null, NULL, ~, ]", "[null,null,null,null]"},
      {"[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]"},
      {"[yes, no, on, off, y, tRUE, nUll]", R"(["yes","no","on","off","y","tRUE","nUll"])"},
      {"[0, 5, -5, +5, 0x1F, 0o17, 0xfF]", "[0,5,-5,5,31,15,255]"},
      {"[0555, 00, -017, +010, '0555']", "[365,0,-15,8,\"0555\"]"},
      {"[1.5, -0.5, .5, 1., 1e3, 1E-2, +1.0]", "[1.5,-0.5,0.5,1,1000,0.01,1]"},
      {"[1.2.3, 1_000, 0x, 0o8, 0xg, 1e, -, +, ., 12:30, 2026-01-01, 64Mi, 0b1]",
       R"(["1.2.3","1_000","0x","0o8","0xg","1e","-","+",".","12:30","2026-01-01","64Mi","0b1"])"},
      {"['5', \"true\", '', \"a\\tb\", ! 5]", R"(["5","true","","a\tb","5"])"},
      {"|\n  5\n", R"("5\n")"},
      {">-\n  a\n  b\n", R"("a b")"},
      {"[!!str 5, !!int 5, !!float 5, !!bool true, !!null null, !!str '']", R"(["5",5,5,true,null,""])"},
      {"!!map {a: !!seq [1]}", R"({"a":[1]})"},
      {"{5: a, true: b, null: c, 1.0: d}", R"({"5":"a","true":"b","null":"c","1.0":"d"})"},
      {"{\"a\":1,\"b\":[\"x\"]}", R"({"a":1,"b":["x"]})"},
      {"a:\n- x\n- y: 1\n  z:\n", R"({"a":["x",{"y":1,"z":null}]})"},
      {"\xEF\xBB\xBF"
       "a: \xC3\xA9",
       "{\"a\":\"\xC3\xA9\"}"},
  };
  for (const Case& c : cases) EXPECT_EQ(read(c.yaml), c.json) << c.yaml;
}

TEST(Yaml, KeepsTheDigitsOfLargeNumbersAsStrings) {
  EXPECT_EQ(read("[9007199254740991, -9007199254740991]"), "[9007199254740991,-9007199254740991]");
  EXPECT_EQ(read("[9007199254740993, -9223372036854775808, +9223372036854775807, 1e300, 1e400, 1e18]"),
            R"(["9007199254740993","-9223372036854775808","9223372036854775807","1e300","1e400","1e18"])");
  EXPECT_EQ(read("0xFFFFFFFFFFFFFFFF"), R"("18446744073709551615")");
  EXPECT_EQ(read("1e-400"), "0");
}

TEST(Yaml, ReportsErrorsWithThePosition) {
  struct Case {
    const char* yaml;
    const char* error;
  };
  const Case cases[] = {
      {"a: 1\nb: [\n", "f.yaml:3:1: invalid YAML"},
      {"a: b: c\n", "f.yaml:1:5: invalid YAML: mapping values are not allowed in this context"},
      {"\ta: 1\n", "f.yaml:1:1: invalid YAML"},
      {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: duplicate key \"a\""},
      {"a: {x: 1, 'x': 2}\n", "f.yaml:1:11: duplicate key \"x\""},
      {"a: &x 1\nb: *x\n", "f.yaml:2:4: aliases (*name) are not supported; write the value out"},
      {"a: &x [*x]\n", "f.yaml:1:8: aliases (*name) are not supported"},
      {"*x : 1\n", "f.yaml:1:1: aliases (*name) are not supported"},
      {"a:\n  <<: {b: 1}\n", "f.yaml:2:3: merge keys (<<) are not supported"},
      {"[1]: 2\n", "f.yaml:1:1: a key must be a scalar"},
      {"? \n: 2\n", "f.yaml:1:2: a key is missing before the colon"},
      {"mode: 0648\n", "f.yaml:1:7: a number with a leading zero is octal, which has only the digits 0 to 7"},
      {"a: 01.5\n", "f.yaml:1:4: a number with a leading zero"},
      {"a: .inf\n", "f.yaml:1:4: infinity and NaN"},
      {"a: .NaN\n", "f.yaml:1:4: infinity and NaN"},
      {"a: 0x1FFFFFFFFFFFFFFFF\n", "f.yaml:1:4: number exceeds 64 bits"},
      {"a: !!binary aGk=\n", "f.yaml:1:4: tag tag:yaml.org,2002:binary is not supported"},
      {"a: !secret x\n", "f.yaml:1:4: tag !secret is not supported"},
      {"a: !thing {}\n", "f.yaml:1:4: tag !thing is not supported"},
      {"a: !!int x\n", "f.yaml:1:4: the value does not match its tag"},
      {"a: \"x\\0y\"\n", "f.yaml:1:4: the character NUL is not allowed"},
      {"a: 1\nb: \xFF\n", "f.yaml:"},
      {"a: \x01\n", "f.yaml:"},
      {"%YAML 3.0\n---\na: 1\n", "f.yaml:1:1: invalid YAML"},
  };
  for (const Case& c : cases) {
    const std::string error = read(c.yaml);
    EXPECT_EQ(error.substr(0, std::string_view(c.error).size()), c.error) << error;
  }
}

TEST(Yaml, ReadsManyDocumentsAndSkipsEmptyOnes) {
  const auto documents = parse_yaml("f.yaml", "# head\n---\n---\na: 1\n---\n\n# nothing\n---\n  b: 2\n...\n---\n- 3\n");
  ASSERT_TRUE(documents) << documents.error().message();
  ASSERT_EQ(documents->size(), 3u);
  EXPECT_EQ((*documents)[0].value.dump(), R"({"a":1})");
  EXPECT_EQ((*documents)[0].start.line, 4);
  EXPECT_EQ((*documents)[1].value.dump(), R"({"b":2})");
  EXPECT_EQ((*documents)[1].where("b"), "f.yaml:9:3");
  EXPECT_EQ((*documents)[2].where("[0]"), "f.yaml:12:3");
  EXPECT_TRUE(parse_yaml("f.yaml", "")->empty());
  EXPECT_TRUE(parse_yaml("f.yaml", "# only a comment\n")->empty());
  // The same key in another document is no duplicate.
  EXPECT_TRUE(parse_yaml("f.yaml", "a: 1\n---\na: 1\n"));
}

TEST(Yaml, BoundsSizeDepthAndCount) {
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  EXPECT_EQ(read(deep), "f.yaml:1:65: nested deeper than 64 levels");
  EXPECT_EQ(read(std::string(1'000'000, '[')), "f.yaml:1:65: nested deeper than 64 levels");
  std::string blocks;
  for (int i = 0; i < 2000; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(read(blocks), "f.yaml:65:65: nested deeper than 64 levels");
  EXPECT_EQ(parse_yaml("f", "[1,2,3]", {.values = 3}).error().message(), "f:1:6: more than 3 values in one file");
  EXPECT_EQ(parse_yaml("f", "a: b", {.bytes = 3}).error().message(), "f: 4 bytes of YAML, the limit is 3");
  // A billion laughs attack is refused at the first alias.
  EXPECT_EQ(read("a: &a [l,l]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"),
            "f.yaml:2:8: aliases (*name) are not supported; write the value out");
}

TEST(Yaml, FindsTheNearestExistingField) {
  const auto documents = parse_yaml("pods.yaml",
                                    "metadata:\n"
                                    "  name: p\n"
                                    "  labels: {a.b/c: x, plain: y}\n"
                                    "spec:\n"
                                    "  containers:\n"
                                    "  - name: c\n"
                                    "    image: 5\n");
  ASSERT_TRUE(documents);
  const YamlDocument& document = documents->front();
  EXPECT_EQ(document.where("spec.containers[0].image"), "pods.yaml:7:5");
  EXPECT_EQ(document.where("spec.containers[0].resources.requests.memory"), "pods.yaml:6:5");
  EXPECT_EQ(document.where("spec.containers[7].name"), "pods.yaml:5:3");
  EXPECT_EQ(document.where("metadata.labels[\"a.b/c\"]"), "pods.yaml:3:12");
  EXPECT_EQ(document.where("metadata.labels[\"a.b/d\"]"), "pods.yaml:3:3");
  EXPECT_EQ(document.where("status.phase"), "pods.yaml:1:1");
  EXPECT_EQ(document.where(""), "pods.yaml:1:1");
  const Result<Pod> pod = decode_pod(document.value, nullptr);
  ASSERT_FALSE(pod);
  EXPECT_EQ(document.locate(pod.error().message()),
            "pods.yaml:7:5: spec.containers[0].image: expected a string, got 5; put it in quotes");
  EXPECT_EQ(document.locate("and 5 more errors"), "pods.yaml:1:1: and 5 more errors");
}

TEST(Yaml, AcceptsOneConfigurationDocumentOnly) {
  EXPECT_EQ(parse_yaml_config("f", "# nothing\n")->value, Json::object());
  EXPECT_EQ(parse_yaml_config("f", "")->where("a"), "f:1:1");
  EXPECT_EQ(parse_yaml_config("f", "---\na: 1\n")->value.dump(), R"({"a":1})");
  EXPECT_EQ(parse_yaml_config("f", "a: 1\n---\nb: 1\n").error().message(),
            "f:3:1: a second document; a configuration file must have only one");
}

TEST(Yaml, WritesReadableBlockStyle) {
  const Json json =
      *Json::parse(R"({"kind":"Pod","spec":{"i":5,"f":0.5,"t":true,"z":null,"list":["a",{"b":1}],"e":[],"o":{}},)"
                   R"("text":"line one\nline two\n","word":"two words"})");
  EXPECT_EQ(dump_yaml(json),
            "kind: Pod\nspec:\n  i: 5\n  f: 0.5\n  t: true\n  z: null\n  list:\n  - a\n  - b: 1\n  e: []\n  o: {}\n"
            "text: |\n  line one\n  line two\nword: two words\n");
}

TEST(Yaml, QuotesStringsThatSomeReadersWouldConvert) {
  for (const char* text : {"",    "~",    "null", "true",  "yes",        "No",    "on", "5", "-5", "0x1F",
                           "1e3", ".inf", "0644", "12:30", "2026-01-01", "1_000", "<<", "=", "y",  "64Mi"}) {
    Json json;
    json.set("k", text);
    EXPECT_EQ(dump_yaml(json), "k: " + Json(text).dump() + "\n") << text;
  }
}

TEST(Yaml, EveryStringSurvivesARoundTrip) {
  static constexpr std::string_view kPieces[] = {"a",
                                                 " ",
                                                 "\n",
                                                 "\t",
                                                 ":",
                                                 "#",
                                                 "-",
                                                 "'",
                                                 "\"",
                                                 "\\",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 "&",
                                                 "*",
                                                 "!",
                                                 "|",
                                                 ">",
                                                 "%",
                                                 "@",
                                                 "`",
                                                 "?",
                                                 "0",
                                                 ".",
                                                 "~",
                                                 "\r",
                                                 "\x01",
                                                 "\x7f",
                                                 "é",
                                                 "€",
                                                 "😀",
                                                 "=",
                                                 "<",
                                                 "\xC2\x85",
                                                 "\xE2\x80\xA8",
                                                 "\xEF\xBB\xBF",
                                                 "null",
                                                 "---",
                                                 "...",
                                                 ": ",
                                                 " #"};
  Random random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t pieces = random.below(8); pieces > 0; --pieces)
      text += kPieces[random.below(std::size(kPieces))];
    Json json;
    json.set("k", text);
    json.set("list", Json(Json::Array{Json(text), Json(5), Json(Json::Array{Json(text)})}));
    json.set("k" + text, Json(Json::Object{{text, Json(text)}}));
    const std::string yaml = dump_yaml(json);
    const auto documents = parse_yaml("f", yaml);
    ASSERT_TRUE(documents) << documents.error().message() << "\n" << yaml << Json(text).dump();
    ASSERT_EQ(documents->size(), 1u);
    ASSERT_EQ(documents->front().value, json) << yaml << Json(text).dump();
  }
}

TEST(Yaml, ReplacesInvalidUtf8WhenWriting) {
  EXPECT_EQ(dump_yaml(Json(std::string("a\xFF"))), "a\xEF\xBF\xBD\n");
  EXPECT_EQ(read(dump_yaml(Json(std::string("a\0b", 3)))),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(Yaml, SurvivesRandomDamage) {
  static constexpr std::string_view kText =
      "a: [1, {b: 'c'}]\nd: |\n  text\n  more\n? e\n: !!str 5\nf: &x\n- g\n- \"h\\n\"\n";
  static constexpr std::string_view kBytes = "{}[]:,\"'\\0|>&*!?-# \n\t%@~\x80\xFF";
  Random random(4);
  int accepted = 0;
  for (int round = 0; round < rounds(20000); ++round) {
    std::string text(kText);
    for (std::uint64_t changes = random.below(4) + 1; changes > 0; --changes) {
      const std::size_t at = random.below(text.size());
      if (random.chance(1, 3)) {
        text.erase(at, 1);
      } else if (random.chance(1, 2)) {
        text.insert(at, 1, kBytes[random.below(kBytes.size())]);
      } else {
        text[at] = kBytes[random.below(kBytes.size())];
      }
      if (text.empty()) text = "a";
    }
    const auto documents = parse_yaml("f", text);
    if (!documents) {
      ASSERT_TRUE(documents.error().message().starts_with("f:")) << documents.error().message();
      continue;
    }
    for (const YamlDocument& document : *documents) {
      ++accepted;
      const auto again = parse_yaml("f", dump_yaml(document.value));
      ASSERT_TRUE(again) << again.error().message() << "\n" << dump_yaml(document.value);
      EXPECT_EQ(again->front().value, document.value);
    }
  }
  EXPECT_GT(accepted, rounds(1000));
}

}  // namespace
}  // namespace berth
