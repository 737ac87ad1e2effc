#include "core/api/read_quantity.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Texts = std::vector<std::string>;

TEST(ReadQuantity, AcceptsStringsAndNumbers) {
  const Json json = *Json::parse(R"({"a":"64Mi","b":0.5,"c":2})");
  Findings findings;
  FieldReader reader(json, "spec", findings);
  Quantity quantity;
  EXPECT_TRUE(read_quantity(reader, "a", quantity));
  EXPECT_EQ(quantity.value(), 64 << 20);
  EXPECT_TRUE(read_quantity(reader, "b", quantity));
  EXPECT_EQ(quantity.milli_value(), 500);
  EXPECT_TRUE(read_quantity(reader, "c", quantity));
  EXPECT_EQ(quantity.value(), 2);
  EXPECT_FALSE(read_quantity(reader, "absent", quantity));
  EXPECT_EQ(quantity.value(), 2);
  reader.finish();
  EXPECT_TRUE(findings.warnings().empty()) << "fields that were read are known";
  EXPECT_TRUE(findings.status().is_success());
}

TEST(ReadQuantity, ReportsInvalidQuantities) {
  const Json json = *Json::parse(R"({"q":[],"all":{"cpu":"1","memory":-1,"disk":true}})");
  Findings findings;
  FieldReader reader(json, "spec", findings);
  Quantity quantity(7);
  ResourceList list{{"before", Quantity(1)}};
  EXPECT_FALSE(read_quantity(reader, "q", quantity));
  EXPECT_EQ(quantity, Quantity(7));
  EXPECT_FALSE(read_quantities(reader, "all", list));
  EXPECT_EQ(list.size(), 1u);
  EXPECT_EQ(findings.status().reasons(),
            (Texts{"spec.q: expected a quantity such as 250m, 2 or 64Mi, got a list",
                   "spec.all.memory: must not be negative, got -1",
                   "spec.all.disk: expected a quantity such as 250m, 2 or 64Mi, got true"}));
}

}  // namespace
}  // namespace berth
