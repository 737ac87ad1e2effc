// Indented JSON reads back as the same value.
#include "firmware-host/ctl/text.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

TEST(CtlText, IndentsJsonThatReadsBackTheSame) {
  const Json value = parsed_json(R"({"a":[1,{"b":"x\n"},[]],"c":{},"d":null})");
  const std::string text = pretty_json(value);
  EXPECT_EQ(parsed_json(text), value);
  EXPECT_NE(text.find("  \"a\": [\n    1,\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace berth
