// Objects as JSON and YAML for people: what is printed reads back as the same value.
#include "firmware-host/ctl/text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Json json(std::string_view text) {
  Result<Json> parsed = Json::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? std::move(*parsed) : Json();
}

TEST(CtlText, IndentsJsonThatReadsBackTheSame) {
  const Json value = json(R"({"a":[1,{"b":"x\n"},[]],"c":{},"d":null})");
  const std::string text = pretty_json(value);
  EXPECT_EQ(json(text), value);
  EXPECT_NE(text.find("  \"a\": [\n    1,\n"), std::string::npos) << text;
}

TEST(CtlText, WritesYamlWithListsBelowTheirKey) {
  EXPECT_EQ(to_yaml(json(R"({"kind":"Pod","spec":{"containers":[{"name":"c","command":["sh","-c"]}],"m":[]}})")),
            "kind: Pod\n"
            "spec:\n"
            "  containers:\n"
            "  - name: c\n"
            "    command:\n"
            "    - sh\n"
            "    - \"-c\"\n"
            "  m: []\n");
}

TEST(CtlText, QuotesWhatYamlWouldReadAsSomethingElse) {
  EXPECT_EQ(to_yaml(json(R"({"a":"true","b":"1","c":"","d":"a: b","e":"no","f":"x\ny","g":"plain text"})")),
            "a: \"true\"\nb: \"1\"\nc: \"\"\nd: \"a: b\"\ne: \"no\"\nf: \"x\\ny\"\ng: plain text\n");
}

TEST(CtlText, WritesListsInLists) { EXPECT_EQ(to_yaml(json("[[1,2],[3]]")), "- - 1\n  - 2\n- - 3\n"); }

}  // namespace
}  // namespace berth
