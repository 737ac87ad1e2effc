// Manifests: errors are found before anything is sent, and reported with file, line and column.
#include "firmware-host/ctl/manifest.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

struct Read : Manifests {
  std::string wrong() const {
    std::string text;
    for (const std::string& error : errors) text += (text.empty() ? "" : "\n") + error;
    return text;
  }
};

Read read(std::string_view text, const ManifestRules& rules = {}) {
  Read result;
  read_manifests("pods.yaml", text, rules, result);
  return result;
}

constexpr const char* kPod =
    "apiVersion: v1\n"
    "kind: Pod\n"
    "metadata:\n"
    "  name: web\n"
    "spec:\n"
    "  containers:\n"
    "  - name: c\n"
    "    image: i\n";

TEST(CtlManifest, ReadsSeveralDocumentsInTheirOrder) {
  const Read result =
      read(std::string("---\nkind: Namespace\napiVersion: v1\nmetadata: {name: shop}\n---\n---\n") + kPod);
  ASSERT_TRUE(result.errors.empty()) << result.wrong();
  ASSERT_EQ(result.valid.size(), 2u);
  EXPECT_EQ(result.valid[0].title(), "namespace/shop");
  EXPECT_EQ(result.valid[1].title(), "pod/default/web");
}

TEST(CtlManifest, ReadsJson) {
  const Read result = read(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},)"
                           R"("spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_TRUE(result.errors.empty()) << result.wrong();
  EXPECT_EQ(result.valid.at(0).title(), "pod/shop/web");
}

TEST(CtlManifest, ReadsTheItemsOfAList) {
  const Read result = read(
      "apiVersion: v1\nkind: List\nitems:\n- {kind: Namespace, apiVersion: v1, metadata: {name: a}}\n"
      "- {kind: Namespace, apiVersion: v1, metadata: {name: B!}}\n");
  EXPECT_EQ(result.valid.size(), 1u);
  EXPECT_NE(result.wrong().find("pods.yaml:5:"), std::string::npos) << result.wrong();
  EXPECT_NE(result.wrong().find("items[1].metadata.name"), std::string::npos) << result.wrong();
}

TEST(CtlManifest, ChecksABudgetByTheRulesOfItsKind) {
  const std::string head = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n";
  const Read good = read(head + "spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}\n");
  ASSERT_TRUE(good.errors.empty()) << good.wrong();
  EXPECT_EQ(good.valid.at(0).title(), "poddisruptionbudget/default/web");
  const Read bad = read(head + "spec:\n  minAvailable: 1\n  maxUnavailable: 1\n");
  EXPECT_TRUE(bad.wrong().starts_with("pods.yaml:6:")) << bad.wrong();
  EXPECT_NE(bad.wrong().find("spec.maxUnavailable: cannot be combined with minAvailable"), std::string::npos)
      << bad.wrong();
}

TEST(CtlManifest, ReportsAnUnknownKindAndTheKnownOnes) {
  const Read result = read("apiVersion: apps/v1\nkind: Ingress\nmetadata:\n  name: web\n");
  EXPECT_TRUE(result.wrong().starts_with("pods.yaml:2:")) << result.wrong();
  EXPECT_NE(result.wrong().find("unknown kind \"Ingress\""), std::string::npos) << result.wrong();
  EXPECT_NE(result.wrong().find("PersistentVolumeClaim"), std::string::npos);
}

TEST(CtlManifest, ReportsThePositionOfAnInvalidField) {
  const Read result = read(std::string(kPod) + "    resources:\n      requests:\n        memory: lots\n");
  EXPECT_TRUE(result.valid.empty());
  EXPECT_TRUE(result.wrong().starts_with("pods.yaml:11:")) << result.wrong();
  EXPECT_NE(result.wrong().find("spec.containers[0].resources.requests.memory: "), std::string::npos) << result.wrong();
}

TEST(CtlManifest, ReportsAllInvalidDocumentsAtOnce) {
  const Read result = read(std::string("kind: Nope\n---\n") + kPod + "---\nmetadata: {}\n");
  EXPECT_NE(result.wrong().find("pods.yaml:1:"), std::string::npos) << result.wrong();
  EXPECT_NE(result.wrong().find("kind: missing"), std::string::npos) << result.wrong();
  ASSERT_EQ(result.valid.size(), 1u) << "the others are as good as before";
  EXPECT_EQ(result.valid[0].title(), "pod/default/web");
}

TEST(CtlManifest, PointsAtTheObjectWhenAFieldIsMissing) {
  const Read result = read("apiVersion: v1\nkind: Pod\nmetadata: {}\nspec:\n  containers:\n  - {name: c, image: i}\n");
  EXPECT_TRUE(result.wrong().starts_with("pods.yaml:3:")) << result.wrong();
  EXPECT_NE(result.wrong().find("metadata.name"), std::string::npos) << result.wrong();
}

TEST(CtlManifest, AMisspeltFieldIsAnErrorUnlessItIsSaidOtherwise) {
  const std::string text = std::string(kPod) + "    imagee: typo\n";
  const std::string want = "pods.yaml:9:5: spec.containers[0].imagee: unknown field; did you mean image?";
  EXPECT_EQ(read(text).wrong(), want);
  EXPECT_TRUE(read(text).valid.empty());

  const Read warned = read(text, {"default", Validation::warn, {}});
  ASSERT_TRUE(warned.errors.empty()) << warned.wrong();
  EXPECT_EQ(warned.warnings, std::vector{want});

  const Read ignored = read(text, {"default", Validation::ignore, {}});
  EXPECT_EQ(ignored.valid.size(), 1u);
  EXPECT_TRUE(ignored.warnings.empty());
}

TEST(CtlManifest, AFieldThatBerthKnowsAndDoesNotActOnIsAWarning) {
  const Read result = read(std::string(kPod) + "  workloadRef: {name: w}\n");
  ASSERT_TRUE(result.errors.empty()) << result.wrong();
  EXPECT_EQ(result.warnings.size(), 1u);
}

TEST(CtlManifest, MakesANameFromGenerateNameOnlyIfItIsSaidSo) {
  std::string text = kPod;
  text.replace(text.find("name: web"), 9, "generateName: web-");
  EXPECT_EQ(read(text).wrong(),
            "pods.yaml:3:1: metadata.name: missing; only berthctl create makes a name from generateName");
  const ManifestRules creating{"default", Validation::strict, [] { return "x2b4c"; }};
  EXPECT_EQ(read(text, creating).valid.at(0).title(), "pod/default/web-x2b4c");
  EXPECT_EQ(read(kPod, creating).valid.at(0).title(), "pod/default/web");
  text.replace(text.find("web-"), 4, std::string(70, 'a'));
  EXPECT_EQ(read(text, creating).valid.at(0).name, std::string(58, 'a') + "x2b4c");
}

TEST(CtlManifest, RefusesInvalidYaml) {
  const Read result = read("kind: Pod\n  metadata: [\n");
  EXPECT_TRUE(result.wrong().starts_with("pods.yaml:2:")) << result.wrong();
}

TEST(CtlManifest, RefusesAPodTooLargeForOneMessage) {
  const std::string large(57 * 1024, 'x');
  const Read result = read(std::string(kPod) + "    command: [\"" + large + "\"]\n");
  EXPECT_NE(result.wrong().find("56 KiB"), std::string::npos) << result.wrong().substr(0, 200);
}

}  // namespace
}  // namespace berth
