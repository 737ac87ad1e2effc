// What a device's facts may be.
#include "core/objects/node_limits.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

ResourceList resources(const char* name, const char* quantity) { return {{name, *Quantity::parse(quantity)}}; }

TEST(NodeLimits, NameTheFirstFactBeyondThem) {
  NodeLimits limits;
  limits.cpu = Quantity(4);
  limits.memory = *Quantity::parse("1Gi");
  limits.pods = Quantity(10);
  limits.volumes = 1;
  limits.labels = 2;
  const struct {
    const char* facts;
    ResourceList allocatable;
    const char* want;
  } kCases[] = {
      {"{}", {}, ""},
      {"{}", resources("cpu", "4"), ""},
      {"{}", resources("cpu", "4001m"), "allocatable.cpu is 4001m, more than the 4 that node_limits.cpu allows"},
      {"{}", resources("memory", "1Gi"), ""},
      {"{}", resources("memory", "2Gi"),
       "allocatable.memory is 2147483648, more than the 1073741824 that node_limits.memory allows"},
      {"{}", resources("pods", "11"), "allocatable.pods is 11, more than the 10 that node_limits.pods allows"},
      {"{}", resources("example.com/gpu", "100000"), ""},
      {R"({"volumes":[{}]})", {}, ""},
      {R"({"volumes":[{},{}]})", {}, "the state has 2 volumes, more than the 1 that node_limits.volumes allows"},
      {R"({"labels":{"a":"","b":""}})", {}, ""},
      {R"({"labels":{"a":"","b":"","c":""}})",
       {},
       "the state has 3 labels, more than the 2 that node_limits.labels allows"},
  };
  for (const auto& each : kCases) EXPECT_EQ(find_excess(limits, parsed_json(each.facts), each.allocatable), each.want);
}

TEST(NodeLimits, OfALargeRaspberryPiAreFarAway) {
  const NodeLimits limits;
  const ResourceList large{{"cpu", Quantity(16)}, {"memory", *Quantity::parse("64Gi")}, {"pods", Quantity(250)}};
  EXPECT_EQ(find_excess(limits, Json::object(), large), "");
}

}  // namespace
}  // namespace berth
