// ConfigMaps and Secrets at the device (N13): asked for before a PreBind goes on, kept while a slot refers to them.
#include <gtest/gtest.h>

#include "core/agent/pod_objects.h"
#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

class FakeVolatileStore final : public VolatileStore {
 public:
  std::map<std::string, std::string> load() override { return values; }
  void put(const std::string& key, const std::string& value) override { values[key] = value; }
  void erase(const std::string& key) override { values.erase(key); }
  void clear() override { values.clear(); }
  std::map<std::string, std::string> values;
};

class AgentConfigs : public AgentTest {
 protected:
  AgentConfigs() { config.volatile_store = &secrets; }
  void SetUp() override {
    boot();
    transport.sent.clear();
  }

  static std::string pod_with(const std::string& uid) {
    return R"({"metadata":{"name":")" + uid + R"(","namespace":"shop","uid":")" + uid +
           R"("},"spec":{"containers":[{"name":"c","image":"i","envFrom":[{"configMapRef":{"name":"app"}},)"
           R"({"secretRef":{"name":"tls"}}]}]}})";
  }
  // A PreBind of another pod, that refers to as many ConfigMaps "m0", ...
  Request pre_bind_of_maps(const std::string& uid, int count, std::uint64_t counter) {
    Request request = request_of(RequestType::pre_bind, uid, counter);
    std::string sources;
    for (int i = 0; i < count; ++i) {
      const std::string name = "m" + std::to_string(i);
      sources += std::string(i == 0 ? "" : ",") + R"({"configMapRef":{"name":")" + name + R"("}})";
      request.configs.push_back({Kind::config_map, name, "h"});
    }
    request.pod = R"({"metadata":{"name":")" + uid + R"(","namespace":"shop","uid":")" + uid +
                  R"("},"spec":{"containers":[{"name":"c","image":"i","envFrom":[)" + sources + "]}]}}";
    return request;
  }
  static std::string contents(const std::string& value, bool immutable = false) {
    return encode(ConfigContents{{{"k", value}}, immutable});
  }
  Request pre_bind(const std::string& uid, std::vector<ConfigRef> configs, std::uint64_t counter = 5) {
    Request request = request_of(RequestType::pre_bind, uid, counter);
    request.pod = pod_with(uid);
    request.configs = std::move(configs);
    return request;
  }
  Request about(RequestType type, std::uint64_t position) {
    Request request = request_of(RequestType::list);
    request.type = type;
    request.incarnation = agent->state().incarnation;
    request.position = position;
    return request;
  }
  void give(Kind kind, const std::string& key, const std::string& hash, const std::string& text,
            std::uint64_t position) {
    const std::vector<std::string_view> parts = config_parts(text);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Request part = about(RequestType::config, position);
      part.config = {{kind, key, hash},
                     static_cast<std::uint32_t>(i),
                     static_cast<std::uint32_t>(parts.size()),
                     std::string(parts[i])};
      deliver(part);
    }
  }
  // What is asked for, each "<kind> <name> <hash> <part>"; or what else was answered.
  Texts take_wishes() {
    Texts texts;
    for (const Answer& answer : take_answers()) {
      if (answer.type != AnswerType::lacks) texts.emplace_back(to_string(answer.type));
      if (answer.type == AnswerType::lacks && answer.wishes.empty()) texts.emplace_back("nothing");
      for (const ConfigWish& wish : answer.wishes) {
        texts.push_back(std::string(describe(wish.ref.kind).name) + " " + wish.ref.key + " " + wish.ref.hash + " " +
                        std::to_string(wish.part));
      }
    }
    return texts;
  }
  std::string found(PodObjectKind kind, const std::string& name, const std::string& uid = "u1") {
    const auto object = runtime.objects->find({uid, {1, 5}}, kind, name);
    return object == nullptr ? runtime.objects->why_missing({uid, {1, 5}}, kind, name) : object->values.at("k");
  }
  bool is_absent(PodObjectKind kind, const std::string& name) {
    return runtime.objects->is_absent({"u1", {1, 5}}, kind, name);
  }
  void bind_with_both() {
    const std::vector<ConfigRef> configs{{Kind::config_map, "app", "h1"}, {Kind::secret, "tls", "h2"}};
    deliver(pre_bind("u1", configs));
    give(Kind::config_map, "shop/app", "h1", contents("v"), 10);
    give(Kind::secret, "shop/tls", "h2", contents("hunter2"), 10);
    deliver(pre_bind("u1", configs));
    prepared(kTag);
    deliver(RequestType::bind);
    take_answers();
    take_calls();
  }

  FakeVolatileStore secrets;
};

TEST_F(AgentConfigs, AreAskedForAndNothingElseFollowsFromThePreBindUntilTheyAreHere) {
  const std::vector<ConfigRef> configs{{Kind::config_map, "app", "h1"}, {Kind::secret, "tls", "h2"}};
  deliver(pre_bind("u1", configs));
  EXPECT_EQ(take_wishes(), (Texts{"ConfigMap shop/app h1 0", "Secret shop/tls h2 0"}));
  EXPECT_EQ(durable_slot(), "none");
  EXPECT_EQ(agent->state().high.count("u1"), 0u);
  give(Kind::config_map, "shop/app", "h1", contents("v"), 10);
  deliver(pre_bind("u1", configs));
  EXPECT_EQ(take_wishes(), (Texts{"Secret shop/tls h2 0"}));
  give(Kind::secret, "shop/tls", "h2", contents("hunter2"), 10);
  deliver(pre_bind("u1", configs));
  EXPECT_EQ(durable_slot(), "preparing");
  prepared(kTag);
  EXPECT_EQ(take_answer_texts(), Texts{"PreBound u1/1.5"});
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), "v");
  EXPECT_EQ(found(PodObjectKind::secret, "tls"), "hunter2");
}

TEST_F(AgentConfigs, ThatMustWaitForOthersKeepThePreBindFromGoingOn) {
  deliver(pre_bind_of_maps("u2", 4, 6));
  EXPECT_EQ(take_wishes().size(), DeviceObjects::kTransfersMax);
  const Request waiting = pre_bind("u1", {{Kind::config_map, "app", "h1"}});
  deliver(waiting);
  EXPECT_EQ(take_wishes(), Texts{});
  EXPECT_EQ(durable_slot(), "none");
  give(Kind::config_map, "shop/m0", "h", contents("v"), 10);
  deliver(waiting);
  EXPECT_EQ(take_wishes(), Texts{"ConfigMap shop/app h1 0"});
}

TEST_F(AgentConfigs, ThatMustWaitForOthersAreNotAcknowledged) {
  bind_with_both();
  deliver(pre_bind_of_maps("u2", 4, 6));
  take_answers();
  Request offer = about(RequestType::configs, 20);
  offer.configs = {{Kind::config_map, "shop/app", "h3"}};
  deliver(offer);
  EXPECT_EQ(take_wishes(), Texts{});
}

TEST_F(AgentConfigs, ThatAreNoLongerAskedForMakeRoomForOthers) {
  deliver(pre_bind_of_maps("u2", 4, 6));
  pass(DeviceObjects::kIdleMs + 1);
  take_answers();
  deliver(pre_bind("u1", {{Kind::config_map, "app", "h1"}}));
  EXPECT_EQ(take_wishes(), Texts{"ConfigMap shop/app h1 0"});
}

TEST_F(AgentConfigs, OfAPodThatIsRefusedAreNotAskedFor) {
  Request large = pre_bind("u1", {{Kind::config_map, "app", "h1"}});
  const std::string container = R"("image":"i",)";
  large.pod.insert(large.pod.find(container) + container.size(), R"("resources":{"requests":{"memory":"1Gi"}},)");
  deliver(large);
  EXPECT_EQ(take_wishes(), Texts{"Rejected"});
}

TEST_F(AgentConfigs, ForWhichThereIsNoMemoryAreNotAskedForAgainUntilThereIs) {
  const std::string large = contents(std::string(1'400'000, 'v'));
  const auto give_all = [&](const Request& request) {
    for (int round = 0; round < 5; ++round) {
      deliver(request);
      bool asked = false;
      for (const Answer& answer : take_answers()) {
        for (const ConfigWish& wish : answer.wishes) {
          asked = true;
          give(wish.ref.kind, wish.ref.key, wish.ref.hash, large, 10);
        }
      }
      if (!asked) return;
    }
    ADD_FAILURE() << "asked for without end";
  };
  give_all(pre_bind_of_maps("u2", 8, 6));
  give_all(pre_bind("u1", {{Kind::config_map, "app", "h1"}}));
  EXPECT_EQ(durable_slot(), "preparing");
  EXPECT_NE(found(PodObjectKind::config_map, "app").find("at most 16 MiB"), std::string::npos);
  EXPECT_FALSE(is_absent(PodObjectKind::config_map, "app"));
  Request offer = about(RequestType::configs, 20);
  offer.configs = {{Kind::config_map, "shop/app", "h1"}};
  deliver(offer);
  EXPECT_EQ(take_wishes(), Texts{"nothing"});
  deliver(RequestType::release, "u2", 6);
  take_answers();
  deliver(offer);
  EXPECT_EQ(take_wishes(), Texts{"ConfigMap shop/app h1 0"});
}

TEST_F(AgentConfigs, OfAPodThatDidNotComeGiveWay) {
  const std::string large = contents(std::string(1'400'000, 'v'));
  Request unfinished = pre_bind_of_maps("u2", 9, 6);
  deliver(unfinished);
  for (int i = 0; i < 4; ++i) give(Kind::config_map, "shop/m" + std::to_string(i), "h", large, 10);
  deliver(unfinished);
  for (int i = 4; i < 8; ++i) give(Kind::config_map, "shop/m" + std::to_string(i), "h", large, 10);
  pass(DeviceObjects::kIdleMs + 1);
  take_answers();
  const Request coming = pre_bind("u1", {{Kind::config_map, "app", "h1"}});
  deliver(coming);
  give(Kind::config_map, "shop/app", "h1", large, 10);
  deliver(coming);
  EXPECT_EQ(durable_slot(), "preparing");
  EXPECT_EQ(found(PodObjectKind::config_map, "app").size(), 1'400'000u);
}

TEST_F(AgentConfigs, ThatCannotBeReadAreNotAskedForAgain) {
  const Request asked = pre_bind("u1", {{Kind::config_map, "app", "h1"}});
  deliver(asked);
  give(Kind::config_map, "shop/app", "h1", "no contents", 10);
  deliver(asked);
  EXPECT_EQ(durable_slot(), "preparing");
  EXPECT_NE(found(PodObjectKind::config_map, "app").find("cannot be read"), std::string::npos);
  restart();
  EXPECT_FALSE(is_absent(PodObjectKind::config_map, "app"));
}

TEST_F(AgentConfigs, AreAbsentOnlyIfTheGatewaySaysSo) {
  deliver(pre_bind("u1", {{Kind::config_map, "app", ""}}));  // of the Secret it says nothing
  EXPECT_TRUE(is_absent(PodObjectKind::config_map, "app"));
  EXPECT_FALSE(is_absent(PodObjectKind::secret, "tls"));
  restart();
  EXPECT_TRUE(is_absent(PodObjectKind::config_map, "app"));
  EXPECT_FALSE(is_absent(PodObjectKind::secret, "tls"));
  Request offer = about(RequestType::configs, 20);
  offer.configs = {{Kind::secret, "shop/tls", ""}};
  deliver(offer);
  EXPECT_TRUE(is_absent(PodObjectKind::secret, "tls"));
  EXPECT_EQ(durable(Table::object, "secrets/shop/tls"), "");
}

TEST_F(AgentConfigs, ThatDoNotExistKeepNoPodFromBeingBound) {
  deliver(pre_bind("u1", {{Kind::config_map, "app", ""}, {Kind::secret, "tls", ""}}));
  EXPECT_EQ(durable_slot(), "preparing");
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), "configmap \"app\" not found");
}

TEST_F(AgentConfigs, InPartsGoOnWhereTheyWereLost) {
  const std::string text = contents(std::string(100'000, 'v'));
  const auto parts = config_parts(text);
  ASSERT_EQ(parts.size(), 4u);
  const std::vector<ConfigRef> configs{{Kind::config_map, "app", "h1"}};
  deliver(pre_bind("u1", configs));
  const auto send = [&](std::uint32_t i) {
    Request part = about(RequestType::config, 10);
    part.config = {{Kind::config_map, "shop/app", "h1"}, i, 4, std::string(parts[i])};
    deliver(part);
  };
  for (const std::uint32_t i : {0u, 0u, 2u, 1u}) send(i);  // repeated, and one too early
  take_answers();
  deliver(pre_bind("u1", configs));
  EXPECT_EQ(take_wishes(), Texts{"ConfigMap shop/app h1 2"});
  send(2);
  send(3);
  deliver(pre_bind("u1", configs));
  EXPECT_EQ(durable_slot(), "preparing");
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), std::string(100'000, 'v'));
}

TEST_F(AgentConfigs, ThatWereNotAskedForAreDropped) {
  give(Kind::secret, "shop/tls", "h2", contents("x"), 10);
  EXPECT_TRUE(secrets.values.empty());
}

TEST_F(AgentConfigs, OutliveARestartWithoutSecretsInTheStore) {
  bind_with_both();
  for (const Record& record : *store.load()) EXPECT_EQ(record.value.find("aHVudGVyMg"), std::string::npos);
  restart();
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), "v");
  EXPECT_EQ(found(PodObjectKind::secret, "tls"), "hunter2");
}

TEST_F(AgentConfigs, OfWhichSecretsEndWithABootAndAreGivenAgain) {
  bind_with_both();
  secrets.values.clear();
  reboot();
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), "v");
  EXPECT_NE(found(PodObjectKind::secret, "tls").find("waits for the gateway"), std::string::npos);
  EXPECT_FALSE(is_absent(PodObjectKind::secret, "tls"));
  take_answers();
  Request offer = about(RequestType::configs, 20);
  offer.configs = {{Kind::config_map, "shop/app", "h1"}, {Kind::secret, "shop/tls", "h2"}};
  deliver(offer);
  EXPECT_EQ(take_wishes(), Texts{"Secret shop/tls h2 0"});
  take_calls();
  give(Kind::secret, "shop/tls", "h2", contents("hunter2"), 20);
  EXPECT_EQ(take_calls(), Texts{"changed u1/1.5"});
  deliver(offer);
  EXPECT_EQ(take_wishes(), Texts{"nothing"});
}

TEST_F(AgentConfigs, OfWhichACopyOfASecretThatIsOlderThanWhatIsKnownIsNotUsedAfterABoot) {
  bind_with_both();
  const std::map<std::string, std::string> before = secrets.values;
  Request offer = about(RequestType::configs, 20);
  offer.configs = {{Kind::secret, "shop/tls", "h3"}};
  deliver(offer);
  give(Kind::secret, "shop/tls", "h3", contents("hunter3"), 20);
  EXPECT_EQ(found(PodObjectKind::secret, "tls"), "hunter3");
  const std::map<std::string, std::string> after = secrets.values;
  secrets.values = before;
  reboot();
  EXPECT_NE(found(PodObjectKind::secret, "tls").find("waits for the gateway"), std::string::npos);
  secrets.values = after;
  reboot();
  EXPECT_EQ(found(PodObjectKind::secret, "tls"), "hunter3");
}

TEST_F(AgentConfigs, AreUpdatedAndNeverByWhatIsOlder) {
  bind_with_both();
  const auto offer = [&](const std::string& hash, std::uint64_t position) {
    Request request = about(RequestType::configs, position);
    request.configs = {{Kind::config_map, "shop/app", hash}};
    deliver(request);
    return take_wishes();
  };
  EXPECT_EQ(offer("h3", 30), Texts{"ConfigMap shop/app h3 0"});
  give(Kind::config_map, "shop/app", "h3", contents("w"), 30);
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), "w");
  EXPECT_EQ(take_calls(), Texts{"changed u1/1.5"});
  EXPECT_EQ(offer("h1", 10), Texts{"nothing"}) << "it was late";
  EXPECT_EQ(offer("", 10), Texts{"nothing"}) << "likewise";
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), "w");
  offer("", 40);
  EXPECT_EQ(found(PodObjectKind::config_map, "app"), "configmap \"app\" not found");
  EXPECT_EQ(take_calls(), Texts{"changed u1/1.5"});
}

TEST_F(AgentConfigs, ThatAreImmutableStayAsThePodsHaveThem) {
  const std::vector<ConfigRef> configs{{Kind::config_map, "app", "h1"}};
  deliver(pre_bind("u1", configs));
  give(Kind::config_map, "shop/app", "h1", contents("v", true), 10);
  deliver(pre_bind("u1", configs));
  take_answers();
  Request offer = about(RequestType::configs, 20);
  offer.configs = {{Kind::config_map, "shop/app", "h9"}};
  deliver(offer);
  EXPECT_EQ(take_wishes(), Texts{"nothing"});
}

TEST_F(AgentConfigs, GoWithTheLastSlotThatRefersToThem) {
  bind_with_both();
  ASSERT_FALSE(durable(Table::object, "configmaps/shop/app").empty());
  deliver(RequestType::release);
  stopped(kTag);
  EXPECT_EQ(durable(Table::object, "configmaps/shop/app"), "");
  EXPECT_EQ(durable(Table::object, "secrets/shop/tls"), "");
  EXPECT_TRUE(secrets.values.empty());
}

TEST_F(AgentConfigs, OfOthersAreNotFound) {
  bind_with_both();
  run_pod("u2", 6);
  EXPECT_EQ(runtime.objects->find({"u2", {1, 6}}, PodObjectKind::secret, "tls"), nullptr);
}

}  // namespace
}  // namespace berth
