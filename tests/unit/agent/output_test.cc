// The output of a finished workload, kept beyond its slot for as long as the gateway wants it.
#include <gtest/gtest.h>

#include "core/agent/output_archive.h"
#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

class FakeArchive final : public OutputArchive {
 public:
  explicit FakeArchive(FakeRuntime& runtime) : runtime_(runtime) {}
  void keep(const Tag& tag) override {
    runtime_.calls.push_back("keep " + tag.uid + "/" + to_text(tag.epoch));
    tags.insert(tag);
  }
  void drop(const Tag& tag) override {
    std::erase_if(tags, [&tag](const Tag& each) { return each.uid == tag.uid && each.epoch <= tag.epoch; });
  }
  std::vector<Tag> kept() const override { return {tags.begin(), tags.end()}; }
  std::set<Tag> tags;

 private:
  FakeRuntime& runtime_;
};

class AgentOutput : public AgentTest {
 protected:
  AgentOutput() { config.output = &archive; }
  void finish_pod() {
    boot();
    run_pod();
    runtime.observe({"u1", {1, 5}}, R"({"phase":"Succeeded"})", true);
    finish();
    take_calls();
    take_answer_texts();
  }
  void release(bool keep, std::uint64_t counter = 5) {
    Request request = request_of(RequestType::release, "u1", counter);
    request.keep_output = keep;
    deliver(request);
  }
  Texts told_kept(ProtocolVersion gateway = kProtocol) {
    Request list = request_of(RequestType::list);
    list.protocol = gateway;
    deliver(list);
    Texts kept;
    for (const std::string& text : take_answer_texts()) {
      if (text.starts_with("Kept")) kept.push_back(text);
    }
    return kept;
  }

  const Tag tag{"u1", {1, 5}};
  FakeArchive archive{runtime};
};

TEST_F(AgentOutput, IsMovedAwayBeforeTheRuntimeRemovesTheRest) {
  finish_pod();
  release(true);
  EXPECT_EQ(take_calls(), (Texts{"keep u1/1.5", "stop u1/1.5 7000"}));
  stopped(tag);
  EXPECT_EQ(archive.tags, std::set<Tag>{tag});
  release(true);
  EXPECT_EQ(archive.tags, std::set<Tag>{tag}) << "the same Release again";
  release(false);
  EXPECT_EQ(archive.tags, std::set<Tag>{});
}

TEST_F(AgentOutput, IsKeptByAnAgentThatWasKilledWhileItStoppedThePod) {
  finish_pod();
  release(true);
  archive.tags.clear();
  restart();
  EXPECT_EQ(take_calls(), (Texts{"keep u1/1.5", "stop u1/1.5 7000"}));
}

TEST_F(AgentOutput, OfAPodThatIsDeletedGoesWithIt) {
  finish_pod();
  release(false);
  EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 7000"});
}

TEST_F(AgentOutput, OfAPodThatStillRanGoesWithIt) {
  boot();
  run_pod();
  take_calls();
  release(true);
  EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 7000"});
}

TEST_F(AgentOutput, IsToldOnceASessionToAGatewayThatUnderstandsIt) {
  archive.tags = {tag};
  boot();
  archive.tags = {tag};
  EXPECT_EQ(told_kept({1, 4}), Texts{});
  EXPECT_EQ(told_kept(), Texts{"Kept u1/1.5"});
  EXPECT_EQ(told_kept(), Texts{});
  set_link(false);
  set_link(true);
  EXPECT_EQ(told_kept(), Texts{"Kept u1/1.5"});
}

TEST_F(AgentOutput, OfAnEarlierStoreIsNobodys) {
  archive.tags = {tag};
  boot();
  EXPECT_EQ(archive.tags, std::set<Tag>{});
}

}  // namespace
}  // namespace berth
