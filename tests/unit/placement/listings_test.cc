#include "core/placement/listings.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

// Listings of node n1, which the test answers page by page.
class ListingsOfANode : public ::testing::Test {
 protected:
  void SetUp() override {
    transport.up = true;
    identity.edit().id = {4, "store"};
    mirror.barrier().set_link(true);
  }
  // What n1 was asked since the last call.
  std::vector<Request> asked() {
    EXPECT_TRUE(turn.finish().is_success());
    std::vector<Request> requests;
    for (const Message& message : std::exchange(transport.on_wire, {})) {
      EXPECT_EQ(message.topic, topics.node_requests("n1"));
      for (Result<Request>& request : decode_requests(message.payload)) requests.push_back(std::move(*request));
    }
    return requests;
  }
  // A page with one slot, whose epoch has the page as counter.
  Answer page(std::uint64_t list_id, std::uint32_t number, std::uint32_t pages) {
    Answer answer(AnswerType::slots);
    answer.node = "n1";
    answer.gateway_id = identity->id;
    answer.list_id = list_id;
    answer.page = number;
    answer.pages = pages;
    SlotReport slot;
    slot.uid = "u" + std::to_string(number);
    slot.epoch = {4, number};
    answer.slots.push_back(slot);
    return answer;
  }
  static std::string uids(const std::optional<Listed>& listed) {
    if (!listed) return "none";
    std::string all;
    for (const SlotReport& slot : listed->slots) all += slot.uid + " ";
    return all;
  }
  void run_timers(Millis ms) {
    clock.now_ms += ms;
    timers.run_due(clock.now_ms);
  }

  GatewayOptions options;
  HandClock clock;
  MemoryStore store;
  Timers timers;
  QuietLog log;
  Random random{1};
  RecordingTransport transport;
  Turn turn{store, transport};
  Topics topics{"default"};
  Metrics metrics;
  AdmissionPolicy admission{store};
  Objects objects{store};
  Nodes nodes{store, clock};
  IdentityRecord identity{store};
  Mirror mirror{turn, topics, clock, store, objects, identity, "gateway"};
  EventRecorder events{turn, topics, clock, store};
  PlacementContext context{options, clock, store,    timers,  log,
                           random,  turn,  topics,   metrics, admission,
                           objects, nodes, identity, mirror,  mirror.publisher(),
                           events};
  LiveEpochs epochs;
  RequestSender sender{context, epochs};
  Listings listings{context, sender};
};

TEST_F(ListingsOfANode, AreOverWithTheLastPageInWhateverOrderPagesCome) {
  listings.start("n1");
  const std::uint64_t id = asked().at(0).list_id;
  EXPECT_EQ(uids(listings.add_page(page(id, 0, 3))), "none");
  EXPECT_EQ(asked().at(0).page, 1u);
  EXPECT_EQ(uids(listings.add_page(page(id, 2, 3))), "none");
  EXPECT_EQ(asked().at(0).page, 1u);
  EXPECT_TRUE(listings.is_open("n1"));
  EXPECT_EQ(uids(listings.add_page(page(id, 1, 3))), "u0 u1 u2 ");
  EXPECT_FALSE(listings.is_open("n1"));
  EXPECT_TRUE(asked().empty());
}

TEST_F(ListingsOfANode, ExpireAtTheBrokerAndWhatIsSentUntilItIsAnsweredDoesNot) {
  const auto expiry = [&] {
    EXPECT_TRUE(turn.finish().is_success());
    return std::exchange(transport.on_wire, {}).at(0).expiry_s;
  };
  listings.start("n1");
  EXPECT_EQ(expiry(), options.promise_ms / 1000);
  Request bind(RequestType::bind);
  bind.incarnation = "i1";
  bind.uid = "u1";
  bind.epoch = {4, 1};
  sender.send("n1", bind);
  EXPECT_EQ(expiry(), 0) << "of QoS 0 nothing waits in a queue of the broker";
  listings.start("n1");
  sender.send("n1", bind);
  EXPECT_EQ(expiry(), options.promise_ms / 1000) << "in one list";
}

TEST_F(ListingsOfANode, TellTheTimeOnlyWhileTheGatewaysOwnClockIsSet) {
  listings.start("n1");
  EXPECT_EQ(asked().at(0).time, 0) << "2023 is before the first version of this program";
  clock.now_ms += Millis{10} * 365 * 24 * 3600 * 1000;
  listings.start("n1");
  EXPECT_EQ(asked().at(0).time, clock.wall());
}

TEST_F(ListingsOfANode, BeginAgainWhenTheDeviceSendsItsFirstPageAgain) {
  listings.start("n1");
  const std::uint64_t id = asked().at(0).list_id;
  listings.add_page(page(id, 0, 3));
  listings.add_page(page(id, 1, 3));
  EXPECT_EQ(uids(listings.add_page(page(id, 0, 2))), "none");  // it restarted, and has fewer slots
  EXPECT_EQ(uids(listings.add_page(page(id, 1, 2))), "u0 u1 ");
}

TEST_F(ListingsOfANode, CountOnlyWhatWasAskedForNowUnderThisTerm) {
  listings.start("n1");
  const std::uint64_t old = asked().at(0).list_id;
  listings.start("n1");
  const std::uint64_t id = asked().at(0).list_id;
  EXPECT_NE(id, old);
  EXPECT_EQ(uids(listings.add_page(page(old, 0, 1))), "none");
  Answer other = page(id, 0, 1);
  other.gateway_id.term = 3;
  EXPECT_EQ(uids(listings.add_page(other)), "none");
  other = page(id, 0, 1);
  other.node = "n2";
  EXPECT_EQ(uids(listings.add_page(other)), "none");
  EXPECT_EQ(uids(listings.add_page(page(id, 0, 1))), "u0 ");
}

TEST_F(ListingsOfANode, RefusePagesThatCannotBe) {
  listings.start("n1");
  const std::uint64_t id = asked().at(0).list_id;
  for (const auto& [number, pages] : std::vector<std::pair<unsigned, unsigned>>{{0, 0}, {1, 1}, {0, 65}}) {
    EXPECT_EQ(uids(listings.add_page(page(id, number, pages))), "none") << number << " of " << pages;
  }
  EXPECT_EQ(log.warnings.size(), 3u);
  EXPECT_TRUE(listings.is_open("n1"));
}

TEST_F(ListingsOfANode, LeaveOutWhatEndedSinceTheyWereAskedFor) {
  listings.start("n1");
  const std::uint64_t id = asked().at(0).list_id;
  listings.add_page(page(id, 0, 2));
  listings.note_ended("n1", {4, 0});
  listings.note_ended("n1", {4, 7});
  EXPECT_EQ(uids(listings.add_page(page(id, 1, 2))), "u1 ");
}

TEST_F(ListingsOfANode, AreAskedForAgainUntilAnswered) {
  listings.start("n1");
  const Request first = asked().at(0);
  run_timers(2 * options.resend_ms);
  EXPECT_EQ(asked().at(0).list_id, first.list_id);
  run_timers(4 * options.resend_ms);
  EXPECT_EQ(asked().size(), 1u);
  listings.forget("n1");
  run_timers(100 * options.resend_ms);
  EXPECT_TRUE(asked().empty());
}

TEST_F(ListingsOfANode, AskForAReportWhileTheFactsOrAStatusAreMissing) {
  listings.start("n1");
  EXPECT_TRUE(asked().at(0).report) << "nothing is known of it";
  DeviceNode& device = nodes.expect("n1");
  device.facts = Manifest(std::string("{}"));
  device.facts_current = true;
  listings.start("n1");
  EXPECT_FALSE(asked().at(0).report);
  EXPECT_TRUE(listings.set_status_lost("n1", true));
  EXPECT_FALSE(listings.set_status_lost("n1", true));
  listings.start("n1");
  EXPECT_TRUE(asked().at(0).report);
}

TEST_F(ListingsOfANode, DoNotBeginWithoutALink) {
  mirror.barrier().set_link(false);
  listings.start("n1");
  EXPECT_FALSE(listings.is_open("n1"));
  EXPECT_TRUE(asked().empty());
}

}  // namespace
}  // namespace berth
