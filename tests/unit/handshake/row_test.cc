#include "core/handshake/row.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "core/bytes.h"

namespace berth {
namespace {

constexpr Phase kPhases[] = {Phase::none, Phase::prebind, Phase::bind, Phase::bound, Phase::release};
constexpr RowEvent kEvents[] = {RowEvent::begin,    RowEvent::pre_bound, RowEvent::bound,   RowEvent::released,
                                RowEvent::rejected, RowEvent::stale,     RowEvent::hello,   RowEvent::forget,
                                RowEvent::leave,    RowEvent::remove,    RowEvent::finished};

Row make_row(Phase phase) {
  Row row;
  row.uid = "u1";
  row.pod = "default/web";
  row.epoch = {7, 9};
  row.node = "n1";
  row.incarnation = "inc";
  row.promise_ms = 30000;
  row.volumes = {{"default/data", "pv-1", "/srv/data"}};
  row.phase = phase;
  return row;
}

ReleaseEntry entry() { return {"n1", "inc", "u1", {7, 9}, R"({"spec":{}})", {{"default/c", "n1-d", "/d"}}}; }

// An answer that passes every guard for make_row() and entry().
Answer accepted_answer(AnswerType type) {
  Answer answer(type);
  answer.node = "n1";
  answer.incarnation = type == AnswerType::hello ? "new" : "inc";
  answer.to_incarnation = type == AnswerType::hello ? "inc" : "";
  answer.gateway_id = {8, "store"};  // the term may have risen since
  answer.uid = "u1";
  answer.epoch = {7, 9};
  answer.high = {7, 9};
  return answer;
}

std::optional<RowEvent> read(Phase phase, const Answer& answer, bool promise_passed = false) {
  return read_answer(make_row(phase), answer, "store", promise_passed);
}

TEST(Row, HasExactlyTheseMoves) {
  using enum RowEvent;
  const std::map<std::pair<Phase, RowEvent>, Phase> legal = {
      {{Phase::none, begin}, Phase::prebind},     {{Phase::prebind, pre_bound}, Phase::bind},
      {{Phase::prebind, released}, Phase::none},  {{Phase::prebind, rejected}, Phase::none},
      {{Phase::prebind, stale}, Phase::none},     {{Phase::prebind, hello}, Phase::none},
      {{Phase::prebind, forget}, Phase::none},    {{Phase::prebind, leave}, Phase::none},
      {{Phase::bind, bound}, Phase::bound},       {{Phase::bind, released}, Phase::none},
      {{Phase::bind, rejected}, Phase::none},     {{Phase::bind, stale}, Phase::none},
      {{Phase::bind, hello}, Phase::none},        {{Phase::bind, forget}, Phase::none},
      {{Phase::bind, remove}, Phase::release},    {{Phase::bound, released}, Phase::none},
      {{Phase::bound, stale}, Phase::none},       {{Phase::bound, hello}, Phase::none},
      {{Phase::bound, forget}, Phase::none},      {{Phase::bound, remove}, Phase::release},
      {{Phase::bound, finished}, Phase::release}, {{Phase::release, released}, Phase::none},
      {{Phase::release, rejected}, Phase::none},  {{Phase::release, stale}, Phase::none},
      {{Phase::release, hello}, Phase::none},     {{Phase::release, forget}, Phase::none},
  };
  for (const Phase phase : kPhases) {
    for (const RowEvent event : kEvents) {
      SCOPED_TRACE(std::string(to_string(phase)) + " " + std::string(to_string(event)));
      const auto expected = legal.find({phase, event});
      const std::optional<Move> move = find_move(phase, event);
      ASSERT_EQ(move.has_value(), expected != legal.end());
      if (!move) continue;
      EXPECT_EQ(move->to, expected->second);
      EXPECT_EQ(move->to_release_list, event == leave);
      Row row = make_row(phase);
      EXPECT_EQ(apply(row, event).to, expected->second);
      EXPECT_EQ(row.phase, expected->second);
    }
  }
}

TEST(RowDeathTest, AnIllegalMoveEndsTheProcess) {
  Row row = make_row(Phase::bind);
  EXPECT_DEATH(apply(row, RowEvent::leave), "CHECK failed");
}

TEST(Row, PreBoundCountsOnlyInPrebindAndBoundOnlyInBind) {
  for (const Phase phase : kPhases) {
    EXPECT_EQ(read(phase, accepted_answer(AnswerType::pre_bound)).has_value(), phase == Phase::prebind);
    EXPECT_EQ(read(phase, accepted_answer(AnswerType::bound)).has_value(), phase == Phase::bind);
  }
  EXPECT_EQ(read(Phase::prebind, accepted_answer(AnswerType::pre_bound)), RowEvent::pre_bound);
  EXPECT_EQ(read(Phase::bind, accepted_answer(AnswerType::bound)), RowEvent::bound);
}

TEST(Row, PreBoundAfterThePromiseLimitLeaves) {
  EXPECT_EQ(read(Phase::prebind, accepted_answer(AnswerType::pre_bound), true), RowEvent::leave);
  EXPECT_EQ(read(Phase::bind, accepted_answer(AnswerType::pre_bound), true), std::nullopt);
  EXPECT_EQ(read(Phase::bind, accepted_answer(AnswerType::bound), true), RowEvent::bound);
  EXPECT_EQ(read(Phase::prebind, accepted_answer(AnswerType::rejected), true), RowEvent::rejected);
}

TEST(Row, FinalAnswersEndTheRowFromEveryPhaseButNone) {
  for (const Phase phase : kPhases) {
    const bool live = phase != Phase::none;
    EXPECT_EQ(read(phase, accepted_answer(AnswerType::released)).has_value(), live);
    EXPECT_EQ(read(phase, accepted_answer(AnswerType::stale)).has_value(), live);
    EXPECT_EQ(read(phase, accepted_answer(AnswerType::hello)).has_value(), live);
    EXPECT_EQ(read(phase, accepted_answer(AnswerType::rejected)).has_value(), live && phase != Phase::bound);
  }
}

TEST(Row, SupersededAndSlotsNeverChangeARow) {
  for (const Phase phase : kPhases) {
    EXPECT_FALSE(read(phase, accepted_answer(AnswerType::superseded)));
    EXPECT_FALSE(read(phase, accepted_answer(AnswerType::slots)));
  }
}

constexpr AnswerType kOfAPod[] = {AnswerType::pre_bound, AnswerType::bound, AnswerType::released,
                                  AnswerType::rejected,  AnswerType::stale, AnswerType::hello};

TEST(Row, AnAnswerFromAnotherNodeChangesNothing) {
  for (const AnswerType type : kOfAPod) {
    Answer answer = accepted_answer(type);
    answer.node = "n2";
    for (const Phase phase : kPhases) EXPECT_FALSE(read(phase, answer));
    EXPECT_FALSE(ends_entry(entry(), answer, "store"));
  }
}

TEST(Row, AnAnswerOfAnotherEpochPodOrStoreChangesNothing) {
  for (const AnswerType type : kOfAPod) {
    for (const Phase phase : kPhases) {
      for (const Epoch& other : {Epoch{7, 8}, Epoch{7, 10}, Epoch{8, 9}}) {
        Answer answer = accepted_answer(type);
        answer.epoch = other;
        EXPECT_FALSE(read(phase, answer));
        EXPECT_FALSE(ends_entry(entry(), answer, "store"));
      }
      Answer answer = accepted_answer(type);
      answer.uid = "u2";
      EXPECT_FALSE(read(phase, answer));
      EXPECT_FALSE(ends_entry(entry(), answer, "store"));
      EXPECT_FALSE(read_answer(make_row(phase), accepted_answer(type), "another store", false));
      EXPECT_FALSE(ends_entry(entry(), accepted_answer(type), "another store"));
    }
  }
}

TEST(Row, AnAnswerOfAnotherIncarnationChangesNothingUnlessItIsAHello) {
  for (const AnswerType type : kOfAPod) {
    if (type == AnswerType::hello) continue;
    Answer answer = accepted_answer(type);
    answer.incarnation = "new";
    for (const Phase phase : kPhases) EXPECT_FALSE(read(phase, answer));
    EXPECT_FALSE(ends_entry(entry(), answer, "store"));
  }
}

TEST(Row, AHelloWithoutTheExactEchoChangesNothing) {
  Answer unsolicited = accepted_answer(AnswerType::hello);
  unsolicited.to_incarnation.clear();
  Answer of_another = accepted_answer(AnswerType::hello);
  of_another.to_incarnation = "older";
  Answer of_itself = accepted_answer(AnswerType::hello);
  of_itself.incarnation = "inc";
  for (const Answer& answer : {unsolicited, of_another, of_itself}) {
    for (const Phase phase : kPhases) EXPECT_FALSE(read(phase, answer));
    EXPECT_FALSE(ends_entry(entry(), answer, "store"));
  }
}

TEST(Row, AStaleBelowTheEpochChangesNothing) {
  Answer answer = accepted_answer(AnswerType::stale);
  answer.high = {7, 8};
  EXPECT_FALSE(read(Phase::bind, answer));
  EXPECT_FALSE(ends_entry(entry(), answer, "store"));
  answer.high = {8, 1};
  EXPECT_EQ(read(Phase::bind, answer), RowEvent::stale);
  EXPECT_TRUE(ends_entry(entry(), answer, "store"));
}

TEST(ReleaseEntry, EndsOnReleasedRejectedStaleAndHelloOnly) {
  for (const AnswerType type : kOfAPod) {
    const bool proof = type != AnswerType::pre_bound && type != AnswerType::bound;
    EXPECT_EQ(ends_entry(entry(), accepted_answer(type), "store"), proof) << to_string(type);
  }
  EXPECT_FALSE(ends_entry(entry(), accepted_answer(AnswerType::superseded), "store"));
}

TEST(Row, StoredFormRoundTrips) {
  for (const Phase phase : {Phase::prebind, Phase::bind, Phase::bound, Phase::release}) {
    const Row row = make_row(phase);
    const Result<Row> back = decode_row(encode(row), static_cast<int>(phase));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->uid, row.uid);
    EXPECT_EQ(back->pod, row.pod);
    EXPECT_EQ(back->epoch, row.epoch);
    EXPECT_EQ(back->node, row.node);
    EXPECT_EQ(back->incarnation, row.incarnation);
    EXPECT_EQ(back->promise_ms, row.promise_ms);
    EXPECT_EQ(back->volumes, row.volumes);
    EXPECT_EQ(back->phase, phase);
  }
}

TEST(Row, StoredFormSaysWhichVolumesAreToBeMade) {
  Row row = make_row(Phase::prebind);
  const std::string plain = encode(row);
  EXPECT_EQ(plain[0], 1) << "as an earlier program reads it";
  row.volumes = {{"default/a", "pv-1", "/srv/a"},
                 {"default/b", "pvc-2", "/pool/pvc-2", VolumeToMake{"fast", std::int64_t{1} << 40}}};
  const Result<Row> back = decode_row(encode(row), static_cast<int>(Phase::prebind));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->volumes, row.volumes);
}

TEST(Row, ReadsTheFormOfAnEarlierVersion) {
  const Result<Row> row = decode_row(R"({"uid":"u1","pod":"default/web","epoch":"7.9","node":"n1","incarnation":"inc",)"
                                     R"("promiseMs":"60000","volumes":[{"claim":"a/b","volume":"v","path":"/p"}]})",
                                     3);
  ASSERT_TRUE(row) << row.error().message();
  EXPECT_EQ(row->epoch, (Epoch{7, 9}));
  EXPECT_EQ(row->phase, Phase::bound);
  EXPECT_EQ(row->volumes, (std::vector<BoundVolume>{{"a/b", "v", "/p"}}));
}

// Kept in fewer bits than it is read with.
TEST(Row, APromiseIsAtMostAYearHoweverLargeTheStoredNumber) {
  const auto stored = [](std::int64_t promise_ms) {
    ByteWriter out;
    out.byte(1);
    out.id("u1");
    out.text("default/web");
    out.number(7);
    out.number(9);
    out.text("n1");
    out.id("inc");
    out.integer(promise_ms);
    out.number(0);  // volumes
    return out.take();
  };
  constexpr std::int64_t kYear = 365ll * 24 * 3'600 * 1'000;
  for (const std::int64_t promise_ms : {std::int64_t{0}, std::int64_t{60'000}, kYear}) {
    const Result<Row> row = decode_row(stored(promise_ms), 1);
    ASSERT_TRUE(row) << row.error().message();
    EXPECT_EQ(row->promise_ms, promise_ms);
    EXPECT_EQ(row->phase, Phase::prebind);
  }
  for (const std::int64_t promise_ms : {std::int64_t{-1}, 2 * kYear, (std::int64_t{1} << 56) + 60'000}) {
    EXPECT_FALSE(decode_row(stored(promise_ms), 1)) << promise_ms;
  }
}

TEST(Row, TruncatedIsAnError) {
  const std::string whole = encode(make_row(Phase::bind));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(decode_row(whole.substr(0, size), 2)) << size;
  EXPECT_FALSE(decode_row(whole + "x", 2));
}

TEST(Row, ABadRecordIsAnErrorThatNamesTheField) {
  EXPECT_EQ(decode_row(encode(make_row(Phase::bind)), 5).error().message(),
            "phase: must be prebind (1), bind (2), bound (3) or release (4), got 5");
  EXPECT_EQ(decode_row(R"({"uid":"u1"})", 1).error().message(), "pod: is missing; must be a string");
  EXPECT_FALSE(decode_row("", 1));
  EXPECT_EQ(decode_release_entry(R"({"node":3})").error().message(), "node: must be a string");
}

TEST(ReleaseEntry, StoredFormRoundTrips) {
  const Result<ReleaseEntry> back = decode_release_entry(encode(entry()));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->node, "n1");
  EXPECT_EQ(back->incarnation, "inc");
  EXPECT_EQ(back->uid, "u1");
  EXPECT_EQ(back->epoch, (Epoch{7, 9}));
  EXPECT_EQ(back->charge, R"({"spec":{}})");
  EXPECT_EQ(back->volumes, entry().volumes);
  EXPECT_TRUE(back->made.empty());
  ReleaseEntry made = entry();
  made.made = {"pvc-1", "pvc-2"};
  EXPECT_EQ(decode_release_entry(encode(made))->made, made.made);
}

}  // namespace
}  // namespace berth
