// Parts that are equal in the pods of a workload are stored once and copied on write.
#include "core/shared.h"
#include "core/api/pod.h"

#include <gtest/gtest.h>

#include <map>

#include "core/api/defaults.h"
#include "core/api/packed.h"
#include "core/random.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

std::string manifest_of(const std::string& name, const std::string& uid) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"a","pod":")" + name + R"("},"name":")" + name +
         R"(","namespace":"shop","uid":")" + uid +
         R"("},"spec":{"containers":[{"image":"i:1","name":"c","resources":{"requests":{"cpu":"1m"}}}],)" +
         R"("tolerations":[{"key":"k","operator":"Exists"}]}})";
}

Pod decoded(const std::string& text) {
  Result<Pod> pod = decode_accepted_pod(*Json::parse(text));
  EXPECT_TRUE(pod.has_value());
  return std::move(*pod);
}

TEST(Shared, PodsOfOneWorkloadShareEqualParts) {
  const Pod a = decoded(manifest_of("web-0", "u-1"));
  const Pod b = decoded(manifest_of("web-1", "u-2"));
  EXPECT_EQ(&a.spec->containers.get(), &b.spec->containers.get());
  EXPECT_EQ(&a.spec->tolerations.get(), &b.spec->tolerations.get());
  EXPECT_EQ(a.metadata.namespace_.get().data(), b.metadata.namespace_.get().data());
  EXPECT_EQ(a.shape.get().data(), b.shape.get().data());
  EXPECT_NE(a.metadata.labels, b.metadata.labels);
  EXPECT_LE(sizeof(Pod), 144u) << "10,000 of them must fit 24 MiB with everything else";
}

TEST(Shared, PodsTiedToANodeOrAClaimOfTheirOwnShareTheRest) {
  const auto tied_to = [](const std::string& number) {
    std::string text = manifest_of("web-" + number, "u-" + number);
    text.insert(text.size() - 2, R"(,"nodeName":"n)" + number + R"(","nodeSelector":{"site":"s)" + number +
                                     R"("},"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c)" + number +
                                     R"("}}])");
    return decoded(text);
  };
  const Pod a = tied_to("1");
  const Pod b = tied_to("2");
  EXPECT_EQ(b.node_name, "n2");
  EXPECT_EQ(&*a.spec, &*b.spec);
}

TEST(Shared, WhoReadsThePodThatItMayChangeTakesNoCopy) {
  const Pod a = decoded(manifest_of("web-0", "u-1"));
  Pod b = a;
  b.node_name = "n2";
  EXPECT_EQ(b.spec->containers.size(), 1u);
  EXPECT_EQ(&*b.spec, &*a.spec);
}

TEST(Shared, AnUnpackedPodSharesPartsWithADecodedOne) {
  const Pod a = decoded(manifest_of("web-0", "u-1"));
  ByteWriter out;
  pack_pod(out, decoded(manifest_of("web-1", "u-2")));
  Pod b;
  ASSERT_TRUE(unpack_pod(out.bytes(), b));
  EXPECT_EQ(&a.spec->containers.get(), &b.spec->containers.get());
  EXPECT_EQ(a.spec->scheduler_name.get().data(), b.spec->scheduler_name.get().data());
}

TEST(Shared, ChangingOnePodDoesNotAffectAnother) {
  const Pod a = decoded(manifest_of("web-0", "u-1"));
  Pod b = decoded(manifest_of("web-0", "u-1"));
  Pod c = b;
  b.spec.edit().containers[0].image = "i:2";
  b.metadata.labels["app"] = "b";
  b.spec.edit().scheduler_name = "other";
  c.spec.edit().tolerations.clear();
  EXPECT_EQ(a.spec->containers.front().image, "i:1");
  EXPECT_EQ(a.metadata.labels->at("app"), "a");
  EXPECT_EQ(a.spec->scheduler_name, "default-scheduler");
  EXPECT_EQ(a.spec->tolerations.size(), 2u);  // with that of memory pressure
  EXPECT_EQ(b.spec->tolerations.size(), 2u);
  EXPECT_EQ(c.spec->containers, a.spec->containers);
  EXPECT_NE(b.spec->containers, a.spec->containers);
  share_parts(b);
  share_parts(c);
  EXPECT_EQ(&std::as_const(c).spec->containers.get(), &a.spec->containers.get());
  EXPECT_EQ(b.spec->containers->front().image, "i:2");
}

TEST(Shared, AnUnusedPartIsReleasedAndMadeAgain) {
  using Texts = Shared<std::vector<std::string>>;
  int made = 0;
  const auto make = [&made](std::vector<std::string>& texts) {
    texts = {"x"};
    ++made;
    return true;
  };
  {
    const std::optional<Texts> first = Texts::common("packed", make);
    const std::optional<Texts> second = Texts::common("packed", make);
    EXPECT_EQ(&first->get(), &second->get());
    EXPECT_EQ(made, 1);
  }
  EXPECT_TRUE(Texts::common("packed", make));
  EXPECT_EQ(made, 2);
  EXPECT_FALSE(Texts::common("damaged", [](auto&) { return false; }));
}

TEST(Shared, AnEmptyPartIsNone) {
  Pod pod = decoded(manifest_of("web-0", "u-1"));
  pod.volumes.emplace_back();
  pod.volumes.edit().clear();
  pod.affinity->required_node_affinity.emplace();
  pod.affinity->required_node_affinity.reset();
  share_parts(pod);
  EXPECT_TRUE(pod.volumes.is_none());
  EXPECT_FALSE(pod.affinity->required_node_affinity);
  pod.affinity->required_node_affinity.emplace();
  share_parts(pod);
  EXPECT_TRUE(pod.affinity->required_node_affinity) << "no terms match nothing, none match everything";
}

TEST(Shape, RestoresTheManifestForAnyPodName) {
  for (const char* name : {"web-0", "a", "c", "app", "i", "apiversion"}) {
    for (const char* uid : {"u-1", "1", "7c9e6679-7425-40de-944b-e07fc1f90ae7"}) {
      const std::string text = manifest_of(name, uid);
      EXPECT_EQ(decoded(text).manifest().text(), text);
    }
  }
}

TEST(Shape, FollowsChangesOfNameAndUid) {
  Pod pod = decoded(manifest_of("web-0", "u-1"));
  pod.metadata.name = "web-1";
  pod.metadata.uid = "u-2";
  EXPECT_EQ(pod.manifest().text(), manifest_of("web-1", "u-2"));
}

// All texts have the same last bytes, so that they compete for the same slot of the lookup cache.
TEST(Text, InternsTextsWithTheSameEnding) {
  Random random(3);
  std::map<std::string, Text> held;
  for (int i = 0; i < rounds(20'000); ++i) {
    const std::string text = std::string(1, static_cast<char>('a' + random.below(20))) + "-same-end";
    if (random.below(3) == 0) {
      held.erase(text);
      continue;
    }
    const Text asked = Text::common(text);
    ASSERT_EQ(asked, text);
    const auto [mine, is_new] = held.try_emplace(text, asked);
    EXPECT_EQ(mine->second.get().data(), asked.get().data()) << "one copy for all";
  }
}

TEST(Shape, KeepsATextThatContainsMarkers) {
  Pod pod = decoded(manifest_of("web-0", "u-1"));
  for (const char* text : {"\1web-0", "web-0\2", "\3", ""}) {
    pod.set_manifest(text);
    EXPECT_EQ(pod.manifest().text(), text);
  }
}

TEST(Shared, ATextOfAnySizeIsStoredCompletely) {
  for (std::size_t size : {0u, 1u, 36u, 2046u, 2047u, 2048u, 70'000u}) {
    const std::string text(size, 'x');
    Text kept = text;
    EXPECT_EQ(kept, text);
    EXPECT_EQ(kept.size(), size);
    EXPECT_EQ(kept.empty(), size == 0);
    const Text copy = kept;
    static_cast<std::string&>(kept.edit()) += "y";
    EXPECT_EQ(kept, text + "y");
    EXPECT_EQ(copy, text) << "a copy is unaffected";
    EXPECT_EQ(Text::common(text).get().data(), Text::common(text).get().data());
  }
}

}  // namespace
}  // namespace berth
