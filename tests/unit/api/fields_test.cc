#include "core/api/fields.h"

#include <gtest/gtest.h>

#include <set>

#include "core/api/validation.h"
#include "tests/unit/api/kubernetes_fields.h"

namespace berth {
namespace {

// Calls visit(object, path) for each object of a tree, itself included, with its path as in a message.
template <class F>
void each_object(Json& value, const std::string& path, F&& visit) {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i)
      each_object(value.as_array()[i], item_path(path, i), visit);
  } else if (value.is_object()) {
    visit(value, path);
    for (auto& [key, member] : value.as_object()) each_object(member, member_path(path, key), visit);
  }
}

// With the fields of a Pod where they are only named.
Json fields_of(std::string_view text) {
  std::string whole(text);
  constexpr std::string_view kNamed = R"("template":"Pod")";
  const std::size_t named = whole.find(kNamed);
  if (named == std::string::npos) return *Json::parse(text);
  const Json pod = *Json::parse(kKubernetesFields[0]);
  const Json pods = Json::object().set("metadata", *pod.find("metadata")).set("spec", *pod.find("spec"));
  whole.replace(named, kNamed.size(), R"("template":)" + pods.dump());
  return *Json::parse(whole);
}

TEST(Fields, OfKubernetesAreAllKnown) {
  std::set<std::string_view> seen;
  for (std::string_view text : kKubernetesFields) {
    const Json object = fields_of(text);
    const KindName& kind = *find_kind(object.string_at("kind"));
    EXPECT_EQ(unknown_fields(kind.kind, object), "") << kind.name;
    seen.insert(kind.name);
  }
  EXPECT_EQ(seen.size(), kinds().size()) << "every kind has its list";
}

TEST(Fields, ThatAreUnknownAreNamedAtEveryDepthOfEveryKind) {
  int objects = 0;
  for (std::string_view text : kKubernetesFields) {
    Json object = fields_of(text);
    const Kind kind = find_kind(object.string_at("kind"))->kind;
    each_object(object, "", [&](Json& place, const std::string& path) {
      ++objects;
      place.set("qqqqqqqqqqqqqqqq", 1);
      EXPECT_EQ(unknown_fields(kind, object), member_path(path, "qqqqqqqqqqqqqqqq") + ": unknown field");
      place.erase("qqqqqqqqqqqqqqqq");
    });
  }
  EXPECT_GT(objects, 300);
}

std::string unknown_of(const std::string& spec) {
  return unknown_fields(Kind::pod, *Json::parse(R"({"metadata":{"name":"p"},"spec":)" + spec + "}"));
}

TEST(Fields, ThatAreMisspeltGetTheNearestNameOfTheirType) {
  EXPECT_EQ(unknown_of(R"({"containers":[{"name":"c","env":[{"name":"A"},{"name":"B","vale":"x"}]}]})"),
            "spec.containers[0].env[1].vale: unknown field; did you mean value?");
  EXPECT_EQ(unknown_of(R"({"containers":[{"livenessProbe":{"httpGet":{"prot":80}}}]})"),
            "spec.containers[0].livenessProbe.httpGet.prot: unknown field; did you mean port?");
  EXPECT_EQ(unknown_of(R"({"volumes":[{"name":"v","hostPath":{"pth":"/d"}}]})"),
            "spec.volumes[0].hostPath.pth: unknown field; did you mean path?");
}

TEST(Fields, OfMapsWithFreeKeysAreNotLookedAt) {
  EXPECT_EQ(unknown_of(R"({"nodeSelector":{"disc":"ssd"},"overhead":{"cqu":"1"},
                           "containers":[{"resources":{"limits":{"example.com/x":"1"}}}]})"),
            "");
  EXPECT_EQ(unknown_fields(Kind::storage_class, *Json::parse(R"({"metadata":{"name":"s","labels":{"x":"y"},
                           "annotations":{"z":"z"}},"parameters":{"any":"thing"}})")),
            "");
}

TEST(Fields, WithNamesThatNoFieldCanHaveAreUnknown) {
  for (const char* name : {"", " ", "+Object", "os=Name", "containers=Container", "spec ", "Name", "\n"}) {
    Json spec = Json::object();
    spec.set(name, 1);
    EXPECT_NE(unknown_of(spec.dump()), "") << name;
  }
}

TEST(Fields, OfTheWrongTypeAreLeftToTheirReaders) {
  EXPECT_EQ(unknown_of(R"({"containers":{"name":"c"},"volumes":5,"affinity":[],"tolerations":[3,null,"x"]})"), "");
}

}  // namespace
}  // namespace berth
