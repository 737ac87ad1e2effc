// Indented JSON reads back as the same value.
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

}  // namespace
}  // namespace berth
