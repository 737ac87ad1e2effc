#include "core/api/config_refs.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

std::vector<ConfigName> names_of(const std::string& spec) {
  const Json pod = parsed_json(R"({"metadata":{"name":"p"},"spec":)" + spec + "}");
  EXPECT_TRUE(config_names_of(pod).empty() || may_have_config_names(pod.dump()));
  return config_names_of(pod);
}

using Names = std::vector<ConfigName>;

TEST(ConfigNames, AreThoseOfVolumesEnvironmentAndImagePulls) {
  EXPECT_EQ(
      names_of(R"({"volumes":[{"name":"a","configMap":{"name":"c1"}},{"name":"b","secret":{"secretName":"s1"}}]})"),
      (Names{{Kind::config_map, "c1"}, {Kind::secret, "s1"}}));
  EXPECT_EQ(names_of(R"({"volumes":[{"name":"a","projected":{"sources":[{"configMap":{"name":"c1"}},
                     {"secret":{"name":"s1"}},{"downwardAPI":{}}]}}]})"),
            (Names{{Kind::config_map, "c1"}, {Kind::secret, "s1"}}));
  EXPECT_EQ(names_of(R"({"containers":[{"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"c1","key":"k"}}},
                     {"name":"B","valueFrom":{"secretKeyRef":{"name":"s1","key":"k","optional":true}}},
                     {"name":"C","value":"c9"}]}]})"),
            (Names{{Kind::config_map, "c1"}, {Kind::secret, "s1"}}));
  EXPECT_EQ(
      names_of(R"({"initContainers":[{"envFrom":[{"configMapRef":{"name":"c1"}},{"secretRef":{"name":"s1"}}]}]})"),
      (Names{{Kind::config_map, "c1"}, {Kind::secret, "s1"}}));
  EXPECT_EQ(names_of(R"({"imagePullSecrets":[{"name":"s1"},{}]})"), (Names{{Kind::secret, "s1"}}));
}

TEST(ConfigNames, AreSortedAndNamedOnce) {
  EXPECT_EQ(names_of(R"({"imagePullSecrets":[{"name":"z"},{"name":"a"},{"name":"z"}],
                     "volumes":[{"secret":{"secretName":"z"}},{"configMap":{"name":"z"}}]})"),
            (Names{{Kind::config_map, "z"}, {Kind::secret, "a"}, {Kind::secret, "z"}}));
}

TEST(ConfigNames, OfTheWrongFormAreLeftOut) {
  EXPECT_EQ(names_of(R"({"volumes":[{"configMap":{"name":"../x"}},{"configMap":"c"},{"secret":{"name":"s"}},7],
                     "containers":[{"env":{},"envFrom":[null]}],"imagePullSecrets":"s"})"),
            Names{});
  EXPECT_EQ(config_names_of(Json()), Names{});
  EXPECT_FALSE(may_have_config_names(R"({"spec":{"containers":[{"image":"my-secret"}]}})"));
}

}  // namespace
}  // namespace berth
