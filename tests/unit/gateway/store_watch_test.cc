// A store that is an older copy of itself: noticed by the mark beside it, and what the lost time placed is found again
// (P11).
#include "core/bytes.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class KeptMarks final : public StoreMarks {
 public:
  std::optional<StoreMark> read() override { return mark; }
  bool write(const StoreMark& written) override {
    ++writes;
    if (fails) return false;
    mark = written;
    return true;
  }
  bool fails = false;
  std::optional<StoreMark> mark;
  int writes = 0;
};

class StoreWatchTest : public GatewayTest {
 protected:
  StoreWatchTest() {
    options.marks = &marks;
    options.first_boot = FirstBoot::lost;
    options.known_nodes = {"n1"};
  }
  std::string record_member(const char* name) {
    const Json record = *Json::parse(store.durable().at({Table::meta, "gateway"}).value);
    const Json* member = record.find(name);
    return member == nullptr ? "" : member->is_string() ? member->as_string() : member->dump();
  }
  std::string store_id() { return record_member("storeId"); }
  std::uint64_t term() { return parse_epoch(record_member("term"))->term; }
  void restart() {
    ++options.identity_seed;
    GatewayTest::restart();
  }
  // As a restart, from a copy of the store.
  void restart_from(const MemoryStore& copy) {
    ++options.identity_seed;
    gateway.reset();
    store = copy;
    transport.up = false;
    start_connected();
  }
  static SlotReport running(const std::string& uid, const Epoch& epoch, const std::string& manifest) {
    SlotReport slot;
    slot.uid = uid;
    slot.epoch = epoch;
    slot.state = SlotState::running;
    slot.pod = manifest;
    return slot;
  }
  // Pod u is promised to n1; the store's mark is restored whenever the store is, and shows nothing.
  Epoch promise_without_mark() {
    settle_with_n1();
    apply(pod("p", "u"));
    options.marks = nullptr;
    return request("n1")->epoch;
  }
  // n1 has ended pod u.
  void release(const Epoch& epoch) {
    Answer released(AnswerType::released);
    released.incarnation = "i1";
    released.gateway_id = gateway->identity().id;
    released.uid = "u";
    released.epoch = epoch;
    answer("n1", released);
  }
  // n1 is there and holds nothing, after adopt mode.
  void settle_with_n1() {
    start_connected();
    device("n1");
    slots("n1", {});
  }
  KeptMarks marks;
};

TEST_F(StoreWatchTest, EachStartIsATermOfItsOwn) {
  settle_with_n1();
  const std::uint64_t first = term();
  restart();
  const std::uint64_t second = term();
  EXPECT_GT(second, first);
  restart();
  EXPECT_GT(term(), second);
  EXPECT_EQ(gateway->not_ready(), "");
}

TEST_F(StoreWatchTest, ACopyFromBeforeAnEarlierStartIsNoticed) {
  settle_with_n1();
  const MemoryStore copy = store;
  const std::string before = store_id();
  restart();
  const std::uint64_t lost_term = term();
  restart_from(copy);
  EXPECT_NE(store_id(), before);
  EXPECT_GT(term(), lost_term);
  EXPECT_TRUE(gateway->not_ready().starts_with("the store is an older copy of itself: these nodes must list"))
      << gateway->not_ready();
  ASSERT_FALSE(log.warnings.empty());
  EXPECT_TRUE(log.warnings[0].starts_with("the store is an older copy of itself")) << log.warnings[0];
  device("n1");
  slots("n1", {});
  EXPECT_EQ(gateway->not_ready(), "");
  EXPECT_EQ(record_member("rolledBack"), "");
}

TEST_F(StoreWatchTest, ACopyFromBeforeACleanStopIsNoticed) {
  settle_with_n1();
  const MemoryStore copy = store;
  bind_pod("p", "u", "n1");
  gateway->say_goodbye();
  turn();
  const std::string before = store_id();
  restart_from(copy);
  EXPECT_NE(store_id(), before);
}

TEST_F(StoreWatchTest, AStoreThatLostCommitsIsAnOlderOneWhateverTheMarkSays) {
  settle_with_n1();
  const std::string before = store_id();
  options.lost_commits = "the write-ahead log is damaged at frame 7: the commits behind it are lost";
  for (const bool has_mark : {true, false}) {
    if (!has_mark) marks.mark.reset();
    restart();
    EXPECT_NE(store_id(), before);
    EXPECT_TRUE(gateway->not_ready().starts_with("the store is an older copy of itself")) << gateway->not_ready();
  }
}

TEST_F(StoreWatchTest, ACopyOfAnotherStoreIsNoticed) {
  settle_with_n1();
  const MemoryStore copy = store;
  const std::string first = store_id();
  store.wipe();
  restart();
  const std::string second = store_id();
  restart_from(copy);
  EXPECT_NE(store_id(), first);
  EXPECT_NE(store_id(), second);
}

TEST_F(StoreWatchTest, ThePodsThatTheLostTimePlacedAreKept) {
  settle_with_n1();
  apply(pod("before", "u1"));
  const Epoch placed = request("n1")->epoch;
  const MemoryStore copy = store;
  restart();
  restart_from(copy);
  device("n1");
  apply(pod("other", "u3"));
  EXPECT_EQ(phase("u3"), Phase::none) << "nothing is placed before the nodes have answered";
  const Epoch later{placed.term, placed.counter + 7};
  slots("n1", {running("u1", placed, pod("before", "u1")), running("u2", later, pod("later", "u2"))});
  EXPECT_EQ(phase("u1"), Phase::bound) << "the lost time had bound it";
  EXPECT_EQ(phase("u2"), Phase::bound) << "its object was made from what the device holds";
}

// The lost time may have given the promise up and placed the pod on another node.
TEST_F(StoreWatchTest, APromiseOfTheCopyIsNotBound) {
  settle_with_n1();
  apply(pod("p", "u"));
  const Epoch promised = request("n1")->epoch;
  const MemoryStore copy = store;
  restart();
  restart_from(copy);
  device("n1");
  EXPECT_EQ(phase("u"), Phase::none);
  device("n2");
  slots("n2", {running("u", {promised.term, promised.counter + 7}, pod("p", "u"))});
  slots("n1", {});
  EXPECT_EQ(gateway->not_ready(), "");
  EXPECT_EQ(gateway->bindings().at("u").row.node, "n2");
  restart();
  EXPECT_EQ(gateway->bindings().at("u").row.node, "n2") << "the promise is not on flash either";
}

// The time that was lost bound what this one then gave up: the pod is placed again only when that has ended.
TEST_F(StoreWatchTest, APromiseThatRunsIsWaitedFor) {
  const Epoch promised = promise_without_mark();
  const GatewayId own = gateway->identity().id;
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  answer("n1", proven_superseded("n1", {own.term + 100'000, own.store_id}));
  EXPECT_TRUE(gateway->releases().contains("n1/u/" + to_text(promised)));
  device("n2");
  slots("n2", {});
  slots("n1", {running("u", promised, pod("p", "u"))});
  EXPECT_EQ(gateway->not_ready(), "");
  EXPECT_EQ(phase("u"), Phase::none);
  release(promised);
  EXPECT_FALSE(gateway->releases().contains("n1/u/" + to_text(promised)));
  advance(15'000);  // its back-off
  EXPECT_EQ(phase("u"), Phase::prebind);
}

// Likewise while nothing shows that time was lost: who held the promise says itself that it runs. Found by the model.
TEST_F(StoreWatchTest, APromiseThatRunsIsWaitedForThoughNothingShowsTheLostTime) {
  const Epoch promised = promise_without_mark();
  restart();
  advance(10 * 60'000);
  ASSERT_EQ(phase("u"), Phase::none) << "the promise has expired";
  ASSERT_TRUE(gateway->releases().contains("n1/u/" + to_text(promised)));
  device("n1", "i1", R"({"cpu":"0","memory":"0","pods":"0"})");
  slots("n1", {running("u", promised, pod("p", "u"))});
  device("n2");
  slots("n2", {});
  EXPECT_EQ(phase("u"), Phase::none);
  release(promised);
  EXPECT_EQ(phase("u"), Phase::prebind);
}

// The copy has the promise still, and the device has carried out the Bind of the lost time.
TEST_F(StoreWatchTest, APromiseThatTheLostTimeBoundIsBound) {
  const Epoch promised = promise_without_mark();
  restart();
  device("n1");
  ASSERT_EQ(phase("u"), Phase::prebind);
  slots("n1", {running("u", promised, pod("p", "u"))});
  EXPECT_EQ(phase("u"), Phase::bind);
  EXPECT_EQ(request("n1")->type, RequestType::bind);
  EXPECT_EQ(gateway->bindings().at("u").row.epoch, promised);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("u"), Phase::bound);
  advance(10 * 60'000);
  EXPECT_EQ(phase("u"), Phase::bound) << "a promise would have expired";
}

// Somebody has told the device to end it since.
TEST_F(StoreWatchTest, APromiseThatTheLostTimeBoundAndEndedIsWaitedFor) {
  const Epoch promised = promise_without_mark();
  restart();
  device("n1");
  SlotReport ending = running("u", promised, pod("p", "u"));
  ending.state = SlotState::stopping;
  slots("n1", {ending});
  EXPECT_TRUE(gateway->releases().contains("n1/u/" + to_text(promised)));
  device("n2");
  slots("n2", {});
  advance(15'000);
  EXPECT_EQ(phase("u"), Phase::none);
}

// P16: the copy went back, not the broker.
TEST_F(StoreWatchTest, AnOrderThatWentBackSinceTheCopyStands) {
  settle_with_n1();
  const std::string topic = topics.desired(Kind::pod, "default/p");
  const std::string first = pod("p", "u", "64Mi", "", R"({"v":"1"})");
  const std::string second = pod("p", "u", "64Mi", "", R"({"v":"2"})");
  receive(topic, first, true);
  receive(topic, second, true);
  settle();
  const MemoryStore copy = store;
  const std::string lost = store_id();
  const std::uint64_t orders = gateway->mirror().past().newest();
  ASSERT_GT(orders, 0u);
  restart();
  for (const bool is_marked : {false, true}) {
    SCOPED_TRACE(is_marked);
    ++options.identity_seed;
    marks.mark = StoreMark{lost, term() + 1'000'000, copy.next_position() + 100};
    gateway.reset();
    store = copy;
    transport.up = true;
    start();
    gateway->on_link(true);
    turn();
    const std::string mark = R"({"storeId":")" + lost + R"(","orders":")" + std::to_string(orders) + R"("})";
    if (is_marked) receive(topics.gateway_fence("gateway"), mark, true);
    receive(topic, first, true);
    const auto& labels = gateway->objects().pods().find("default/p")->pod->metadata.labels;
    EXPECT_EQ(labels.at("v"), is_marked ? "1" : "2");
  }
}

TEST_F(StoreWatchTest, AStoreThatIsAheadOfItsMarkIsItself) {
  settle_with_n1();
  const std::optional<StoreMark> first = marks.mark;
  bind_pod("p", "u", "n1");
  const std::string id = store_id();
  restart();
  marks.mark = first;  // the power went before the later mark was on disk
  restart();
  EXPECT_EQ(store_id(), id);
  EXPECT_EQ(phase("u"), Phase::bound);
}

TEST_F(StoreWatchTest, WithoutAMarkTheStoreIsBelieved) {
  settle_with_n1();
  const std::string id = store_id();
  marks.mark.reset();
  restart();
  EXPECT_EQ(store_id(), id);
  EXPECT_EQ(marks.mark->store_id, id) << "and marked again";
}

TEST_F(StoreWatchTest, MarksOnceAnHourAndWhenTheTermRises) {
  settle_with_n1();
  advance(1'000);
  const int before = marks.writes;
  bind_pod("p", "u", "n1");
  advance(3'590'000);
  EXPECT_EQ(marks.writes, before);
  advance(20'000);
  EXPECT_EQ(marks.writes, before + 1);
  device("n2");
  answer("n2", proven_superseded("n2", {1'000'000, "another"}));
  advance(2'000);
  EXPECT_EQ(marks.mark->term, term());
  EXPECT_GT(term(), 1'000'000u);
}

TEST_F(StoreWatchTest, WhatAnEffectOfTheTurnStagesIsNotMarked) {
  settle_with_n1();
  EXPECT_LE(marks.mark->position, store.next_position());
  gateway->say_goodbye();
  turn();
  store.crash();
  EXPECT_LE(marks.mark->position, store.next_position());
}

TEST_F(StoreWatchTest, ADeviceThatObeysALaterTermOfThisStoreTellsThatItIsOlder) {
  settle_with_n1();
  marks.mark.reset();
  const MemoryStore copy = store;
  restart();
  const GatewayId later = gateway->identity().id;
  options.marks = nullptr;  // the mark was restored with the store
  restart_from(copy);
  ASSERT_EQ(gateway->not_ready(), "");
  device("n1");
  answer("n1", proven_superseded("n1", {later.term + 100'000, later.store_id}));
  EXPECT_GT(gateway->identity().id.term, later.term + 100'000);
  EXPECT_TRUE(gateway->not_ready().starts_with("the store is an older copy of itself")) << gateway->not_ready();
  slots("n1", {});
  EXPECT_EQ(gateway->not_ready(), "");
}

// The whole card was put back: store, mark and key. The new start's random term may be above that of the lost time, so
// that the devices obey it, and say nothing of what was.
class PutBackCardTest : public StoreWatchTest {
 protected:
  PutBackCardTest() {
    options.known_nodes = {"n1", "n2"};
    start_connected();
    for (const char* node : {"n1", "n2"}) {
      device(node);
      slots(node, {});
    }
    card = store;
    restart();
    lost = gateway->identity().id;
    options.marks = nullptr;
    // Each term rises by a random number; above that of the lost time by this seed.
    do {
      restart_from(card);
    } while (gateway->identity().id.term <= lost.term);
    EXPECT_EQ(gateway->not_ready(), "");
    device("n1");
  }
  ObeyedGateway proven(const GatewayId& obeyed, const std::string& node = "n1") {
    return {obeyed.store_id, make_proof(*options.proof_key, obeyed, node)};
  }
  bool is_adopting() { return !gateway->not_ready().empty(); }
  MemoryStore card;
  GatewayId lost;
};

TEST_F(PutBackCardTest, ADeviceThatObeyedALaterStateOfThisStoreTellsItInItsListing) {
  const std::uint64_t before = gateway->identity().id.term;
  slots("n1", {}, "i1", {proven(lost)});
  EXPECT_TRUE(gateway->not_ready().starts_with("the store is an older copy of itself")) << gateway->not_ready();
  EXPECT_GT(gateway->identity().id.term, before);
  for (const char* node : {"n1", "n2"}) {
    device(node);
    slots(node, {}, "i1", {proven(lost, node)});
  }
  EXPECT_FALSE(is_adopting()) << "what the second node tells is known";
}

TEST_F(PutBackCardTest, WhatIsKnownOfALostStateIsKnownAfterARestart) {
  slots("n1", {}, "i1", {proven(lost)});
  slots("n1", {}, "i1", {proven(lost)});
  device("n2");
  slots("n2", {});
  ASSERT_FALSE(is_adopting());
  restart();
  device("n1");
  slots("n1", {}, "i1", {proven(lost)});
  EXPECT_FALSE(is_adopting());
}

TEST_F(PutBackCardTest, ADeviceThatObeyedALaterStoreOfThisMachineTellsItToo) {
  slots("n1", {}, "i1", {proven({7, "the-store-after-it"})});
  EXPECT_TRUE(is_adopting());
  for (const char* node : {"n1", "n2"}) {
    device(node);
    slots(node, {}, "i1", {proven({7, "the-store-after-it"}, node), proven({9, "the-store-after-it"}, node)});
  }
  EXPECT_FALSE(is_adopting());
  restart();
  device("n1");
  slots("n1", {}, "i1", {proven({9, "the-store-after-it"})});
  EXPECT_FALSE(is_adopting()) << "it is known as one that was lost";
}

TEST_F(PutBackCardTest, NothingIsConcludedFromWhatIsNotProvenOrWasNeverLost) {
  const GatewayId own = gateway->identity().id;
  const std::uint64_t first = parse_epoch(gateway->identity().terms.to_json().as_array().front().as_string())->term;
  ObeyedGateway forged = proven(lost);
  forged.proof.back() = forged.proof.back() == '0' ? '1' : '0';
  slots("n1", {}, "i1", {forged, proven(lost, "n2"), proven(own), proven({first, own.store_id})});
  EXPECT_FALSE(is_adopting());
  ASSERT_GT(first, 1u);
  device("n1");
  slots("n1", {}, "i1", {proven({first - 1, own.store_id})});
  EXPECT_FALSE(is_adopting()) << "before what the history keeps";
}

TEST_F(PutBackCardTest, AStoreIdThatThisMachineGaveUpItselfTellsNothing) {
  slots("n1", {});
  const GatewayId former = gateway->identity().id;
  options.lost_commits = "the write-ahead log is damaged";
  restart();
  options.lost_commits.clear();
  ASSERT_NE(gateway->identity().id.store_id, former.store_id);
  for (const char* node : {"n1", "n2"}) {
    device(node);
    slots(node, {}, "i1", {proven(former, node)});
  }
  EXPECT_FALSE(is_adopting());
  device("n1");
  slots("n1", {}, "i1", {proven(former)});
  EXPECT_FALSE(is_adopting());
}

// B1: such a node's term stayed through starts, and a card that was put back gave it the same epochs again.
TEST_F(StoreWatchTest, EachStartIsANewTermTowardsANodeThatOthersGaveAHigherOneToo) {
  settle_with_n1();
  answer("n1", superseded({gateway->identity().id.term + 1'000'000, "another"}));
  slots("n1", {});
  const auto towards = [&] { return gateway->nodes().id_towards("n1", gateway->identity().id).term; };
  bind_pod("p", "u", "n1");
  const Epoch given = gateway->bindings().at("u").row.epoch;
  EXPECT_EQ(given.term, towards());
  for (int start = 0; start < 2; ++start) {
    const std::uint64_t before = towards();
    restart();
    EXPECT_GT(towards(), before);
    EXPECT_TRUE(gateway->nodes().is_given("n1", given, gateway->identity().terms)) << "the store has given it";
  }
  EXPECT_FALSE(gateway->nodes().is_given("n1", {given.term, store.next_position()}, gateway->identity().terms));
  const std::uint64_t before = towards();
  const Json forgotten = api(R"({"op":"forget","kind":"Node","name":"n1"})");
  ASSERT_TRUE(forgotten.find("error") == nullptr) << forgotten.dump();
  restart();
  device("n1", "i2");
  EXPECT_GT(towards(), before) << "also of one that was forgotten";
}

TEST_F(StoreWatchTest, AHigherTermThatAnEarlierProgramKeptOfANodeIsExceededToo) {
  settle_with_n1();
  const std::uint64_t fixed = term() + 1'000'000;
  std::string& record = const_cast<Contents&>(store.durable()).at({Table::node, "n1"}).value;
  ByteWriter numbers;
  numbers.number(fixed);
  numbers.number(3);
  record.front() = 2;  // the form of that program; the incarnation is a length and its text
  record.insert(1 + 1 + std::string("i1").size(), numbers.take());
  restart();
  EXPECT_GT(gateway->nodes().id_towards("n1", gateway->identity().id).term, fixed);
  const std::uint64_t once = gateway->nodes().all().at("n1").term_lead.lead;
  restart();
  EXPECT_EQ(gateway->nodes().all().at("n1").term_lead.lead, once);
}

TEST_F(StoreWatchTest, AMarkThatCannotBeWrittenIsTriedAgainEverySecond) {
  marks.fails = true;
  settle_with_n1();
  const int writes = marks.writes;
  advance(3'000);
  EXPECT_GE(marks.writes, writes + 2);
  marks.fails = false;
  advance(2'000);
  ASSERT_TRUE(marks.mark.has_value());
  EXPECT_EQ(marks.mark->term, term());
}

TEST_F(StoreWatchTest, AStoreThatAnEarlierProgramSavedIsNotTakenForOlder) {
  settle_with_n1();
  restart();
  const std::string id = store_id();
  std::string& record = const_cast<Contents&>(store.durable()).at({Table::meta, "gateway"}).value;
  Json json = *Json::parse(record);
  json.erase("terms");
  record = json.dump();
  restart();
  EXPECT_EQ(store_id(), id);
}

// Outside adopt mode.
TEST_F(StoreWatchTest, ASlotThatThisStoreNeverGaveBindsNoClaimAndTakesNoPod) {
  settle_with_n1();
  bind_pod("placed", "placed", "n1");
  device("n2");
  slots("n2", {});
  receive(
      topics.desired(Kind::persistent_volume_claim, "default/c"),
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default"},)"
      R"("spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":{"storage":"1Gi"}}}})");
  receive(
      topics.desired(Kind::persistent_volume, "v"),
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},)"
      R"("accessModes":["ReadWriteOnce"],"storageClassName":"local","local":{"path":"/d"},"nodeAffinity":{"required":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}}}})");
  ASSERT_NE(gateway->objects().volume("v"), nullptr);
  receive(topics.node_presence("n2"), R"({"incarnation":"i1","session":"2","online":true})");
  SlotReport made_up = running("x", {999'999, 1}, pod("x", "x"));
  made_up.volumes = {{"default/c", "v", "/d"}};
  slots("n2", {made_up, running("placed", {999'999, 2}, pod("placed", "placed"))});
  EXPECT_NE(record_member("orphans").find("n2/x/"), std::string::npos);
  EXPECT_EQ(gateway->objects().volume("v")->claim_ref, "");
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "");
  EXPECT_EQ(gateway->bindings().at("placed").row.node, "n1");
}

// Outside adopt mode.
TEST_F(StoreWatchTest, ASlotThatThisStoreNeverGaveIsKeptForTheOperator) {
  settle_with_n1();
  ASSERT_EQ(gateway->not_ready(), "");
  const Epoch given{term(), store.next_position() - 1};
  restart();  // terms before are ours
  device("n1");
  const std::uint64_t far = store.next_position() + 1'000;
  slots("n1", {running("known", given, pod("known", "known")), running("later", {term(), far}, pod("later", "later")),
               running("between", {term() - 1, 5}, pod("between", "between"))});
  const std::string orphans = record_member("orphans");
  EXPECT_EQ(orphans.find("known"), std::string::npos) << "this store gave it, and ended it: it is released";
  EXPECT_NE(orphans.find("later"), std::string::npos);
  EXPECT_NE(orphans.find("between"), std::string::npos);
}

}  // namespace
}  // namespace berth
