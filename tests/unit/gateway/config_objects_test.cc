// ConfigMaps and Secrets at the gateway: who sees which values, what the broker retains, and what is larger than a
// message.
#include "tests/unit/gateway/gateway_fixture.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

// Turns bytes around, and fails while told to.
class TurningSealer final : public Sealer {
 public:
  Result<std::string> seal(std::string_view, std::string_view bytes) override {
    if (fails) return Status::error("secrets.key: the key of Secrets is missing");
    return std::string(bytes.rbegin(), bytes.rend());
  }
  Result<std::string> open(std::string_view name, std::string_view sealed) override { return seal(name, sealed); }
  bool fails = false;
};

class ConfigObjectsTest : public GatewayTest {
 protected:
  ConfigObjectsTest() {
    options.sealer = &sealer;
    start_connected();
  }
  static std::string secret(const std::string& value, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"})" + more + R"(,"stringData":{"pin":")" +
           value + R"("}})";
  }
  static std::string config_map(const std::string& value, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"})" + more + R"(,"data":{"k":")" + value +
           R"("}})";
  }
  // Whether any message that was sent so far has the text.
  bool was_sent(const std::string& text) const {
    for (const Message& message : transport.sent) {
      if (message.payload.find(text) != std::string::npos) return true;
    }
    return false;
  }
  std::optional<std::string> published(const std::string& topic) const {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic == topic) return it->payload;
    }
    return std::nullopt;
  }

  TurningSealer sealer;
};

TEST_F(ConfigObjectsTest, AreCreatedUpdatedAndDeleted) {
  EXPECT_EQ(apply(config_map("v")).string_at("result"), "created");
  EXPECT_EQ(apply(config_map("v")).string_at("result"), "unchanged");
  EXPECT_EQ(apply(config_map("w")).string_at("result"), "updated");
  EXPECT_EQ(apply(secret("v")).string_at("result"), "created");
  EXPECT_EQ(apply(secret("v")).string_at("result"), "unchanged");
  restart();
  EXPECT_EQ(apply(secret("v")).string_at("result"), "unchanged");
  EXPECT_EQ(api(R"({"op":"delete","kind":"secrets","name":"s"})").string_at("result"), "deleted");
  EXPECT_EQ(gateway->objects().configs().bytes(),
            gateway->objects().manifest(Kind::config_map, "default/c").dump().size());
  EXPECT_EQ(api(R"({"op":"delete","kind":"cm","name":"c"})").string_at("result"), "deleted");
  EXPECT_EQ(gateway->objects().configs().bytes(), 0u);
}

TEST_F(ConfigObjectsTest, SayWhenTheyWereCreatedAndKeepThat) {
  clock.booted_ms = 1'750'000'000'000;
  apply(config_map("v"));
  const auto created = [this] {
    return gateway->objects().manifest(Kind::config_map, "default/c").find("metadata")->string_at("creationTimestamp");
  };
  const std::string first = created();
  EXPECT_EQ(first.substr(0, 5), "2025-");
  advance(10'000);
  apply(config_map("w"));
  EXPECT_EQ(created(), first);
}

TEST_F(ConfigObjectsTest, ThatAreImmutableStayAsTheyAre) {
  apply(config_map("v", R"(,"immutable":true)"));
  EXPECT_NE(apply(config_map("w", R"(,"immutable":true)")).string_at("error").find("data: cannot change"),
            std::string::npos);
  EXPECT_NE(apply(config_map("v")).string_at("error").find("immutable: cannot be unset"), std::string::npos);
  apply(secret("v"));
  EXPECT_NE(apply(secret("v", R"(,"type":"mine")")).string_at("error").find("type: is immutable"), std::string::npos);
}

TEST_F(ConfigObjectsTest, OfASecretTheValuesAreShownToWhoAsksForThem) {
  apply(secret("hunter2"));
  const std::string encoded = "aHVudGVyMg==";
  for (const char* request :
       {R"({"op":"get","kind":"secrets","name":"s"})", R"({"op":"get","kind":"secrets"})",
        R"({"op":"describe","kind":"secrets","name":"s"})", R"({"op":"get","kind":"secrets","name":"s","part":0})"}) {
    const std::string reply = api(request).dump();
    EXPECT_EQ(reply.find(encoded), std::string::npos) << reply;
    EXPECT_NE(reply.find("pin"), std::string::npos) << reply;
  }
  EXPECT_FALSE(was_sent(encoded) || was_sent("hunter2"));
  EXPECT_EQ(*api(R"({"op":"get","kind":"secrets","name":"s"})").find("object")->find("data"),
            parsed_json(R"({"pin":7})"));
  EXPECT_EQ(*api(R"({"op":"get","kind":"secrets","name":"s","values":true})").find("object")->find("data"),
            parsed_json(R"({"pin":"aHVudGVyMg=="})"));
}

TEST_F(ConfigObjectsTest, OfASecretTheBrokerRetainsNothing) {
  apply(secret("hunter2"));
  settle();
  EXPECT_EQ(published(topics.desired(Kind::secret, "default/s")).value_or(""), "");
  EXPECT_EQ(published(topics.status(Kind::secret, "default/s")).value_or(""), "{}");
  restart();
  settle();
  EXPECT_FALSE(was_sent("aHVudGVyMg==") || was_sent("hunter2"));
}

TEST_F(ConfigObjectsTest, OfASecretTheOrderIsTakenByTheApiOnlyAndClearedElsewhere) {
  receive(topics.desired(Kind::secret, "default/s"), secret("hunter2"), true);
  settle();
  EXPECT_FALSE(gateway->objects().has(Kind::secret, "default/s"));
  EXPECT_EQ(published(topics.desired(Kind::secret, "default/s")), "");
  ASSERT_FALSE(log.warnings.empty());
  EXPECT_NE(log.warnings.back().find("berthctl apply"), std::string::npos);
  EXPECT_EQ(log.warnings.back().find("hunter2"), std::string::npos);
}

TEST_F(ConfigObjectsTest, OfAConfigMapTheOrderMayBeRetained) {
  receive(topics.desired(Kind::config_map, "default/c"), config_map("v"), true);
  EXPECT_TRUE(gateway->objects().has(Kind::config_map, "default/c"));
  settle();
  const Json mirrored = parsed_json(published(topics.desired(Kind::config_map, "default/c")).value_or("{}"));
  EXPECT_EQ(mirrored, gateway->objects().manifest(Kind::config_map, "default/c"));
}

TEST_F(ConfigObjectsTest, ThatCannotBeSealedAreRefusedWithTheReason) {
  sealer.fails = true;
  EXPECT_NE(apply(secret("hunter2")).string_at("error").find("secrets.key"), std::string::npos);
  EXPECT_FALSE(gateway->objects().has(Kind::secret, "default/s"));
}

TEST_F(ConfigObjectsTest, ThatCannotBeReadAreShownKeptAndMayBeDeleted) {
  apply(secret("hunter2"));
  sealer.fails = true;
  restart();
  EXPECT_NE(api(R"({"op":"status"})").string_at("lockedSecrets").find("default/s"), std::string::npos);
  EXPECT_NE(api(R"({"op":"get","kind":"secrets","name":"s"})").find("object"), nullptr);
  EXPECT_NE(apply(secret("other")).string_at("error").find("cannot be read"), std::string::npos);
  sealer.fails = false;
  restart();
  EXPECT_EQ(api(R"({"op":"status"})").string_at("lockedSecrets"), "");
  EXPECT_EQ(apply(secret("hunter2")).string_at("result"), "unchanged");
  sealer.fails = true;
  restart();
  EXPECT_EQ(api(R"({"op":"delete","kind":"secrets","name":"s"})").string_at("result"), "deleted");
  restart();
  EXPECT_EQ(api(R"({"op":"status"})").string_at("lockedSecrets"), "");
}

TEST_F(ConfigObjectsTest, LargerThanAMessageComeAndGoInParts) {
  const std::string value(200'000, 'v');
  const std::string text = config_map(value);
  constexpr std::size_t kPiece = 28'000;
  const auto count = static_cast<std::int64_t>((text.size() + kPiece - 1) / kPiece);
  Json reply;
  for (std::int64_t i = 0; i < count; ++i) {
    Json upload = Json::object();
    upload.set("id", "u1").set("part", i).set("parts", count);
    upload.set("text", text.substr(static_cast<std::size_t>(i) * kPiece, kPiece));
    reply = api(Json(Json::Object{{"op", Json("apply")}, {"upload", upload}}).dump());
  }
  EXPECT_EQ(reply.string_at("result"), "created") << reply.dump();
  settle();
  EXPECT_EQ(published(topics.desired(Kind::config_map, "default/c")).value_or(""), "") << "no message is that large";

  const Json whole = api(R"({"op":"get","kind":"cm","name":"c"})");
  EXPECT_EQ(*whole.find("object")->find("omitted"), parsed_json(R"(["data"])"));
  std::string got;
  std::int64_t parts = 1;
  for (std::int64_t i = 0; i < parts; ++i) {
    const Json piece = api(R"({"op":"get","kind":"cm","name":"c","part":)" + std::to_string(i) + "}");
    got += piece.string_at("text");
    parts = piece.find("parts")->as_int();
  }
  EXPECT_EQ(*Json::parse(got, {.bytes = 1 << 20, .depth = 64}),
            gateway->objects().manifest(Kind::config_map, "default/c"));
  for (const Message& message : transport.sent) EXPECT_LE(message.payload.size(), 64u * 1024);
  restart();
  EXPECT_EQ(gateway->objects().find<ConfigMap>("default/c")->manifest.find("data")->string_at("k"), value);
}

TEST_F(ConfigObjectsTest, AreNoReasonToTakeALargeObjectOfAnotherKind) {
  Json upload = Json::object();
  upload.set("id", "u1").set("part", 0).set("parts", 1).set("text", pod("p", "u"));
  EXPECT_EQ(api(Json(Json::Object{{"op", Json("apply")}, {"upload", upload}}).dump()).string_at("error"),
            "upload: expected a ConfigMap or Secret");
}

}  // namespace
}  // namespace berth
