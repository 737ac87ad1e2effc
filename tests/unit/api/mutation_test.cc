// Random mutations of a valid manifest: decoding never crashes, and what it accepts survives a round trip.
#include <gtest/gtest.h>

#include "core/api/config_objects.h"
#include "core/api/decode.h"
#include "core/api/defaults.h"
#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "core/random.h"
#include "tests/unit/api/manifests.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

const int kRounds = rounds(1500);

void decode_all(const Json& json) {
  Warnings warnings;
  (void)decode_pod(json, &warnings);
  (void)decode_node(json, &warnings);
  (void)decode_persistent_volume(json, &warnings);
  (void)decode_persistent_volume_claim(json, &warnings);
  (void)decode_storage_class(json, &warnings);
  (void)decode_priority_class(json, &warnings);
  (void)decode_namespace(json, &warnings);
  (void)decode_service(json, &warnings);
  (void)decode_pod_disruption_budget(json, &warnings);
  (void)decode_csi_node(json, &warnings);
  (void)decode_csi_driver(json, &warnings);
  (void)decode_csi_storage_capacity(json, &warnings);
  (void)decode_config_map(json, &warnings);
  (void)decode_secret(json, &warnings);
  (void)decode_accepted_pod(json);
  EXPECT_LE(warnings.size(), 14 * 21u);
}

TEST(Mutation, OfBytesNeverBreaksReading) {
  static constexpr std::string_view kBytes = "{}[]:,\"\\0123456789.eE+-truefalsn \n\t\x80\xFF\xC3";
  Random random(1);
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string text(kPodManifest);
    for (std::uint64_t changes = random.below(4) + 1; changes > 0; --changes) {
      const std::size_t at = random.below(text.size());
      const char byte = kBytes[random.below(kBytes.size())];
      switch (random.below(4)) {
        case 0: text[at] = byte; break;
        case 1: text.insert(at, 1, byte); break;
        case 2: text.erase(at, random.below(20)); break;
        default: text.insert(at, text.substr(random.below(text.size()), random.below(40))); break;
      }
    }
    const Result<Json> json = Json::parse(text);
    if (!json) continue;
    ++accepted;
    const Result<Json> again = Json::parse(json->dump());
    ASSERT_TRUE(again) << json->dump();
    EXPECT_EQ(*again, *json);
    decode_all(*json);
  }
  EXPECT_GT(accepted, kRounds / 50);  // otherwise the test would be void
}

// All values of a tree, the root included.
void collect(Json& json, std::vector<Json*>& out) {
  out.push_back(&json);
  if (json.is_array()) {
    for (Json& item : json.as_array()) collect(item, out);
  } else if (json.is_object()) {
    for (auto& [key, item] : json.as_object()) collect(item, out);
  }
}

TEST(Mutation, OfValuesNeverBreaksDecoding) {
  const Json replacements[] = {Json(),
                               Json(true),
                               Json(-1),
                               Json(0.5),
                               Json(1e300),
                               Json(""),
                               Json("x"),
                               Json("1e999"),
                               Json::object(),
                               Json::array(),
                               Json(2000000000),
                               Json(std::string(70000, 'x')),
                               *Json::parse(R"([{"name":"a"},5,null])")};
  Random random(2);
  const Result<Json> original = Json::parse(kPodManifest);
  ASSERT_TRUE(original);
  for (int round = 0; round < kRounds / 5; ++round) {
    Json json = *original;
    for (std::uint64_t changes = random.below(3) + 1; changes > 0; --changes) {
      std::vector<Json*> values;
      collect(json, values);
      *values[random.below(values.size())] = replacements[random.below(std::size(replacements))];
    }
    decode_all(json);
  }
}

TEST(Mutation, LargeMessagesGiveShortReasons) {
  Json json = *Json::parse(kPodManifest);
  Json& spec = *json.find("spec");
  spec.set("restartPolicy", std::string(1 << 20, 'x'));
  for (int i = 0; i < 5000; ++i)
    spec.as_object().emplace_back("unknown" + std::to_string(i) + std::string(100, 'y'), i);
  Warnings warnings;
  const Result<Pod> pod = decode_pod(json, &warnings);
  ASSERT_FALSE(pod);
  EXPECT_LT(pod.error().message().size(), 500u);
  EXPECT_EQ(warnings.size(), 21u);
  for (const std::string& warning : warnings) EXPECT_LT(warning.size(), 300u);
}

}  // namespace
}  // namespace berth
