// How long a device keeps what a finished pod has written: a Release that says so, and one that ends it.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class KeptOutputTest : public GatewayTest {
 protected:
  void SetUp() override {
    start_connected();
    device("n1");
    bind_pod("job", "u1", "n1");
    epoch = gateway->bindings().at("u1").row.epoch;
  }
  void finish_pod() {
    receive(topics.node_pod("n1", "default/job"),
            R"({"uid":"u1","epoch":")" + to_text(epoch) + R"(","phase":"Succeeded"})", true);
  }
  void remove_pod() { api(R"({"op":"delete","kind":"pod","namespace":"default","name":"job"})"); }
  // What the node is asked in answer to this.
  std::string answer_to_kept(const std::string& uid, const Epoch& kept, const std::string& incarnation = "i1") {
    transport.sent.clear();
    Answer answer_kept(AnswerType::kept);
    answer_kept.incarnation = incarnation;
    answer_kept.gateway_id = gateway->identity().id;
    answer_kept.uid = uid;
    answer_kept.epoch = kept;
    answer("n1", answer_kept);
    return asked();
  }
  std::string asked() {
    const std::optional<Request> last = request("n1");
    if (!last) return "nothing";
    return std::string(to_string(last->type)) + " " + last->uid + "/" + to_text(last->epoch) +
           (last->keep_output ? " keep" : "");
  }
  std::string release(bool keep = false) const { return "Release u1/" + to_text(epoch) + (keep ? " keep" : ""); }

  Epoch epoch;
};

TEST_F(KeptOutputTest, IsAskedForWithTheReleaseOfAFinishedPodAndEndsWithItsObject) {
  finish_pod();
  EXPECT_EQ(asked(), release(true));
  answer("n1", AnswerType::released);
  ASSERT_EQ(phase("u1"), Phase::none);
  transport.sent.clear();
  remove_pod();
  EXPECT_EQ(asked(), release());
}

TEST_F(KeptOutputTest, IsNotAskedForWhenTheObjectGoesToo) {
  finish_pod();
  transport.sent.clear();
  remove_pod();
  advance(2'000);  // asked again
  EXPECT_EQ(asked(), release());
  answer("n1", AnswerType::released);
  remove_pod();
  EXPECT_TRUE(gateway->objects().pods().all().empty());
}

TEST_F(KeptOutputTest, OfAPodThatRunsIsNotAskedFor) {
  transport.sent.clear();
  remove_pod();
  EXPECT_EQ(asked(), release());
}

TEST_F(KeptOutputTest, IsTheDevicesToTellAndTheGatewaysToEnd) {
  finish_pod();
  answer("n1", AnswerType::released);
  EXPECT_EQ(answer_to_kept("u1", epoch), "nothing") << "the object is there";
  restart();
  device("n1");
  EXPECT_EQ(answer_to_kept("u1", epoch), "nothing") << "also after a restart";
  EXPECT_EQ(answer_to_kept("u1", {epoch.term, epoch.counter - 1}),
            "Release u1/" + to_text(Epoch{epoch.term, epoch.counter - 1}))
      << "of an earlier placement";
  EXPECT_EQ(answer_to_kept("u2", epoch), "Release u2/" + to_text(epoch)) << "no object";
  EXPECT_EQ(answer_to_kept("u2", epoch, "i2"), "nothing") << "of another incarnation";
  transport.up = false;
  remove_pod();
  transport.up = true;
  EXPECT_EQ(answer_to_kept("u1", epoch), release()) << "its Release was lost";
}

TEST_F(KeptOutputTest, NeverEndsAPodThatHasARow) {
  EXPECT_EQ(answer_to_kept("u1", epoch), "nothing");
  EXPECT_EQ(answer_to_kept("u1", {epoch.term, epoch.counter + 100}), "nothing");
  EXPECT_EQ(phase("u1"), Phase::bound);
}

class KeptOutputInAdoptModeTest : public GatewayTest {
 protected:
  KeptOutputInAdoptModeTest() {
    options.first_boot = FirstBoot::lost;
    options.known_nodes = {"n1", "n2"};
  }
  void SetUp() override {
    start_connected();
    device("n1");
    device("n2");
  }
  void tell_kept() {
    Answer kept(AnswerType::kept);
    kept.incarnation = "i1";
    kept.gateway_id = gateway->identity().id;
    kept.uid = "u1";
    kept.epoch = {1, 7};
    answer("n1", kept);
  }
};

TEST_F(KeptOutputInAdoptModeTest, ToldWhileNodesAreAskedEndsOnceItIsKnownThatNoObjectIsThere) {
  slots("n1", {});
  ASSERT_TRUE(gateway->identity().adopting);
  tell_kept();
  EXPECT_FALSE(request("n1")) << "n2 may have its object";
  slots("n2", {});
  ASSERT_FALSE(gateway->identity().adopting);
  const std::optional<Request> last = request("n1");
  ASSERT_TRUE(last);
  EXPECT_EQ(std::string(to_string(last->type)) + " " + last->uid, "Release u1");
}

// The simulator's seed 2288 (S1).
TEST_F(KeptOutputInAdoptModeTest, ToldByAnIncarnationThatIsLostSinceIsNotEndedAtTheNextOne) {
  tell_kept();
  device("n1", "i2");
  slots("n1", {}, "i2");
  slots("n2", {});
  ASSERT_FALSE(gateway->identity().adopting);
  EXPECT_FALSE(request("n1")) << "i2 would remember an epoch that it never had";
}

}  // namespace
}  // namespace berth
