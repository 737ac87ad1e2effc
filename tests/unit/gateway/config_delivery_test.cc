// ConfigMaps and Secrets on their way to a device (N13), message by message.
#include "tests/unit/gateway/gateway_fixture.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

class PlainSealer final : public Sealer {
 public:
  Result<std::string> seal(std::string_view, std::string_view bytes) override { return std::string(bytes); }
  Result<std::string> open(std::string_view, std::string_view sealed) override {
    return is_locked ? Result<std::string>(Status::error("the key is lost")) : std::string(sealed);
  }
  bool is_locked = false;
};

class ConfigDeliveryTest : public GatewayTest {
 protected:
  ConfigDeliveryTest() {
    options.sealer = &sealer;
    start_connected();
    join();
  }
  void join() {
    device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"protocol":"1.13")");
    slots("n1", {});
  }
  void put(const std::string& kind, const std::string& name, const std::string& value) {
    const std::string data = kind == "Secret" ? "stringData" : "data";
    apply(R"({"apiVersion":"v1","kind":")" + kind + R"(","metadata":{"name":")" + name + R"("},")" + data +
          R"(":{"k":")" + value + R"("}})");
  }
  // A ConfigMap that comes in parts.
  void put_large(const std::string& name, const std::string& value) {
    constexpr std::size_t kPart = 50'000;
    const std::string text = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                             R"("},"data":{"k":")" + value + R"("}})";
    const int parts = static_cast<int>((text.size() + kPart - 1) / kPart);
    Json upload = Json::object();
    for (int i = 0; i < parts; ++i) {
      upload.set("id", name).set("part", i).set("parts", parts);
      upload.set("text", text.substr(static_cast<std::size_t>(i) * kPart, kPart));
      api(Json(Json::Object{{"op", Json("apply")}, {"upload", upload}}).dump());
    }
  }
  void put_pod(const std::string& name, const std::string& uid) {
    apply(pod(name, uid, "64Mi",
              R"(,"volumes":[{"name":"a","configMap":{"name":"app"}},{"name":"b","secret":{"secretName":"tls"}}])"));
  }
  // All requests of a type that were sent to the node since the last call.
  std::vector<Request> take(RequestType type) {
    std::vector<Request> found;
    for (const Message& message : std::exchange(transport.sent, {})) {
      if (message.topic != topics.node_requests("n1")) continue;
      Result<Request> request = decode_request(message.payload);
      if (request && request->type == type) found.push_back(*request);
    }
    return found;
  }
  void lack(const Request& request, std::vector<ConfigWish> wishes) {
    Answer lacks = answer_to(request, AnswerType::lacks);
    lacks.position = request.position;
    lacks.wishes = std::move(wishes);
    answer("n1", lacks);
  }
  // The pod is bound, and the device has what it refers to.
  void bind_with_both() {
    put("ConfigMap", "app", "v");
    put("Secret", "tls", "hunter2");
    put_pod("p", "u1");
    answer("n1", AnswerType::pre_bound);
    answer("n1", AnswerType::bound);
    ASSERT_EQ(phase("u1"), Phase::bound);
    transport.sent.clear();
  }

  PlainSealer sealer;
};

TEST_F(ConfigDeliveryTest, AreNamedInThePreBindAndOneThatIsAbsentToo) {
  put("ConfigMap", "app", "v");
  transport.sent.clear();
  put_pod("p", "u1");
  const std::optional<Request> asked = request("n1");
  ASSERT_TRUE(asked);
  ASSERT_EQ(asked->type, RequestType::pre_bind);
  ASSERT_EQ(asked->configs.size(), 2u);
  EXPECT_EQ(asked->configs[0].key, "app");
  EXPECT_EQ(asked->configs[0].hash.size(), 16u);
  EXPECT_EQ(asked->configs[1], (ConfigRef{Kind::secret, "tls", ""}));
  apply(pod("plain", "u2"));
  EXPECT_EQ(transport.on_wire.back().payload.find("configs"), std::string::npos);
}

TEST_F(ConfigDeliveryTest, HaveHashesThatNoOtherObjectAndNoOtherGatewayHas) {
  std::set<std::string> hashes;
  for (const ProofKey& key : {ProofKey{1, 2, 3}, ProofKey{1, 2, 4}}) {
    options.proof_key = key;
    restart();
    join();
    put("ConfigMap", "app", "same");
    put("Secret", "tls", "same");
    put("Secret", "other", "same");
    transport.sent.clear();
    apply(pod("p", "u" + std::to_string(hashes.size()), "64Mi",
              R"(,"volumes":[{"name":"a","configMap":{"name":"app"}},{"name":"b","secret":{"secretName":"tls"}},
                  {"name":"c","secret":{"secretName":"other"}}])"));
    const std::optional<Request> asked = request("n1");
    ASSERT_TRUE(asked);
    ASSERT_EQ(asked->configs.size(), 3u);
    for (const ConfigRef& ref : asked->configs) hashes.insert(ref.hash);
    api(R"({"op":"delete","kind":"pod","name":"p"})");
  }
  EXPECT_EQ(hashes.size(), 6u) << "who makes an object of contents that they guess sees another hash";
}

TEST_F(ConfigDeliveryTest, ThatTheDeviceLacksFollowAndThenThePreBindAgain) {
  put("ConfigMap", "app", "v");
  put_pod("p", "u1");
  const Request asked = *request("n1");
  transport.sent.clear();
  const ConfigRef wanted{Kind::config_map, "default/app", asked.configs[0].hash};
  lack(asked, {{wanted, 0}});
  ASSERT_EQ(request("n1")->type, RequestType::pre_bind);
  EXPECT_EQ(request("n1")->epoch, asked.epoch);
  const std::vector<Request> parts = take(RequestType::config);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].config.ref, wanted);
  EXPECT_EQ(decode_contents(parts[0].config.text)->values.at("k"), "v");
}

TEST_F(ConfigDeliveryTest, ThatThePodDoesNotReferToAreNotGiven) {
  put("Secret", "other", "hunter2");
  put_pod("p", "u1");
  const Request asked = *request("n1");
  transport.sent.clear();
  lack(asked, {{{Kind::secret, "default/other", "0000000000000000"}, 0}});
  EXPECT_TRUE(take(RequestType::config).empty());
  // Nor to a device that was not asked.
  Answer lacks = answer_to(asked, AnswerType::lacks);
  lacks.epoch.counter += 1;
  answer("n1", lacks);
  EXPECT_TRUE(take(RequestType::pre_bind).empty());
}

TEST_F(ConfigDeliveryTest, OfManyPartsComeAFewAtATime) {
  put_large("app", std::string(300'000, 'v'));
  put_pod("p", "u1");
  const Request asked = *request("n1");
  std::string got;
  std::uint32_t count = 1;
  for (std::uint32_t part = 0; part < count;) {
    transport.sent.clear();
    lack(asked, {{{Kind::config_map, "default/app", asked.configs[0].hash}, part}});
    const std::vector<Request> parts = take(RequestType::config);
    ASSERT_FALSE(parts.empty());
    EXPECT_LE(parts.size(), ConfigDelivery::kPartsAtOnce);
    for (const Request& each : parts) got += each.config.text;
    part += static_cast<std::uint32_t>(parts.size());
    count = parts[0].config.parts;
  }
  EXPECT_EQ(decode_contents(got)->values.at("k"), std::string(300'000, 'v'));
}

TEST_F(ConfigDeliveryTest, ThatAreAskedForTwiceInOneMessageAreGivenOnce) {
  put("ConfigMap", "app", "v");
  put_pod("p", "u1");
  const Request asked = *request("n1");
  transport.sent.clear();
  const ConfigWish wish{{Kind::config_map, "default/app", asked.configs[0].hash}, 0};
  lack(asked, {wish, wish, {wish.ref, 7}});
  EXPECT_EQ(take(RequestType::config).size(), 1u);
  lack(asked, std::vector<ConfigWish>(kConfigWishesMax + 1, wish));
  EXPECT_TRUE(take(RequestType::config).empty()) << "no device asks for so many";
}

TEST_F(ConfigDeliveryTest, AreSentOnceEachTimeSinceTheyAreAskedForAgain) {
  put("ConfigMap", "app", "v");
  put_pod("p", "u1");
  const Request asked = *request("n1");
  transport.sent.clear();
  lack(asked, {{{Kind::config_map, "default/app", asked.configs[0].hash}, 0}});
  for (const Message& message : transport.sent) {
    if (message.topic == topics.node_requests("n1")) EXPECT_EQ(message.qos, 0) << message.payload;
  }
}

TEST_F(ConfigDeliveryTest, ThatTheGatewayCannotReadAreNotListedAsAbsent) {
  put("Secret", "tls", "hunter2");
  sealer.is_locked = true;
  restart();
  join();
  transport.sent.clear();
  put_pod("p", "u1");
  const std::optional<Request> asked = request("n1");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->configs, (std::vector<ConfigRef>{{Kind::config_map, "app", ""}}));
}

TEST_F(ConfigDeliveryTest, AreNotOfferedAgainToADeviceThatNoLongerKnowsThem) {
  bind_with_both();
  put("ConfigMap", "app", "w");
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"protocol":"1.12")");
  transport.sent.clear();
  advance(30'000);
  EXPECT_TRUE(take(RequestType::configs).empty());
}

TEST_F(ConfigDeliveryTest, ThatAreReplacedCountOnceTowardsTheLimit) {
  for (int i = 0; i < 32; ++i) put_large("m" + std::to_string(i), std::string(1'040'000, 'v'));
  put_large("one-more", std::string(1'040'000, 'v'));
  EXPECT_TRUE(gateway->objects().has(Kind::config_map, "default/m31"));
  EXPECT_FALSE(gateway->objects().has(Kind::config_map, "default/one-more"));
  put_large("m0", std::string(1'040'000, 'w'));
  EXPECT_EQ(gateway->objects().manifest(Kind::config_map, "default/m0").find("data")->string_at("k")[0], 'w');
}

TEST_F(ConfigDeliveryTest, ThatChangeAreOfferedUntilTheDeviceHasThem) {
  bind_with_both();
  put("ConfigMap", "app", "w");
  std::vector<Request> offers = take(RequestType::configs);
  ASSERT_EQ(offers.size(), 1u);
  ASSERT_EQ(offers[0].configs.size(), 1u);
  EXPECT_EQ(offers[0].configs[0].key, "default/app");
  advance(2'000);
  offers = take(RequestType::configs);
  ASSERT_FALSE(offers.empty()) << "it may have been lost";
  lack(offers.back(), {{offers.back().configs[0], 0}});
  std::vector<Request> sent = take(RequestType::config);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(decode_contents(sent[0].config.text)->values.at("k"), "w");
  advance(2'000);
  offers = take(RequestType::configs);
  ASSERT_FALSE(offers.empty());
  lack(offers.back(), {});
  transport.sent.clear();
  advance(30'000);
  EXPECT_TRUE(take(RequestType::configs).empty());
}

TEST_F(ConfigDeliveryTest, ThatChangeOftenAreOfferedOnceASecond) {
  bind_with_both();
  put("ConfigMap", "app", "w");
  lack(take(RequestType::configs).back(), {});
  for (int i = 0; i < 20; ++i) put("ConfigMap", "app", "w" + std::to_string(i));
  EXPECT_TRUE(take(RequestType::configs).empty());
  advance(2'000);
  EXPECT_FALSE(take(RequestType::configs).empty());
}

TEST_F(ConfigDeliveryTest, ThatAreDeletedAreOfferedAsAbsent) {
  bind_with_both();
  api(R"({"op":"delete","kind":"secrets","name":"tls"})");
  const std::vector<Request> offers = take(RequestType::configs);
  ASSERT_EQ(offers.size(), 1u);
  EXPECT_EQ(offers[0].configs, (std::vector<ConfigRef>{{Kind::secret, "default/tls", ""}}));
}

TEST_F(ConfigDeliveryTest, OfANodeThatHasListedItsSlotsAreOfferedAgainAndNoneAsAbsent) {
  bind_with_both();
  const Row row = gateway->bindings().at("u1").row;
  api(R"({"op":"delete","kind":"secrets","name":"tls"})");
  restart();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"protocol":"1.13")");
  transport.on_wire.clear();
  SlotReport slot{"u1", row.epoch, SlotState::running, gateway->objects().manifest(Kind::pod, "default/p").dump()};
  slots("n1", {slot});
  const std::vector<Request> offers = take(RequestType::configs);
  ASSERT_EQ(offers.size(), 1u);
  ASSERT_EQ(offers[0].configs.size(), 1u);
  EXPECT_EQ(offers[0].configs[0].key, "default/app");
}

TEST_F(ConfigDeliveryTest, AreNotOfferedToADeviceThatDoesNotKnowThem) {
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"protocol":"1.12")");
  bind_with_both();
  put("ConfigMap", "app", "w");
  advance(5'000);
  EXPECT_TRUE(take(RequestType::configs).empty());
}

}  // namespace
}  // namespace berth
