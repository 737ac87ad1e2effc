// N9: the time that a gateway says.
#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

constexpr Millis kDay = Millis{24} * 3600 * 1000;
constexpr Millis kKnown = 20'000 * kDay;

class NoMemory final : public TimeMemory {
 public:
  Millis read() override { return 0; }
  bool write(Millis) override { return true; }
};

class AgentToldTheTime : public AgentTest {
 protected:
  AgentToldTheTime() {
    config.time_floor = &floor_;
    boot();
  }
  Request list_with(Millis time) {
    Request list = request_of(RequestType::list);
    list.incarnation.clear();
    list.time = time;
    return list;
  }
  // Of the device's clock, which is in 1970.
  Millis floor() const { return floor_.floor(); }

 private:
  NoMemory memory_;
  TimeFloor floor_{kKnown, memory_, clock, timers};
};

TEST_F(AgentToldTheTime, BelievesTheGatewayItObeys) {
  deliver(list_with(0));
  EXPECT_EQ(floor(), kKnown);
  deliver(list_with(kKnown + 3 * kDay));
  EXPECT_EQ(floor(), kKnown + 3 * kDay);
}

TEST_F(AgentToldTheTime, BelievesNoGatewayThatAnotherHasSuperseded) {
  deliver(list_with(0));
  Request lower = list_with(kKnown + 3 * kDay);
  lower.gateway_id = {1, "store"};
  deliver(lower);
  lower.gateway_id = {2, "another"};
  deliver(lower);
  EXPECT_EQ(floor(), kKnown);
}

TEST_F(AgentToldTheTime, BelievesNoGatewayThatItWasNotEnrolledFor) {
  Request foreign = list_with(kKnown + 3 * kDay);
  foreign.gateway = "another";
  deliver(foreign);
  EXPECT_EQ(floor(), kKnown);
}

TEST_F(AgentToldTheTime, AnswersAListWhateverTimeItTells) {
  for (const Millis time : {Millis{1}, std::numeric_limits<Millis>::max()}) {
    deliver(list_with(time));
    EXPECT_EQ(take_answers().size(), 1u) << time;
  }
  EXPECT_EQ(floor(), kKnown) << "the first one was of 1970, and a day has not passed";
  config.time_floor = nullptr;
  restart();
  deliver(list_with(kKnown));
  EXPECT_EQ(take_answers().size(), 1u);
}

}  // namespace
}  // namespace berth
