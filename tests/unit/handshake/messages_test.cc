#include "core/handshake/messages.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/handshake/via.h"
#include "core/json/json.h"
#include "core/random.h"
#include "tests/one_message.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

constexpr char kPod[] = R"({"metadata":{"name":"web","uid":"u1"},"spec":{"containers":[{"name":"c","image":"i"}]}})";

Request pre_bind() {
  Request request(RequestType::pre_bind);
  request.gateway = "gw";
  request.gateway_id = {7, "store"};
  request.incarnation = "inc";
  request.floor = {7, 3};
  request.uid = "u1";
  request.epoch = {7, 9007199254740993u};  // beyond 2^53
  request.pod = kPod;
  request.volumes = {{"default/data", "pv-1", "/srv/data"}};
  request.promise_ms = 30000;
  return request;
}

Answer answer_of(AnswerType type) {
  Answer answer(type);
  answer.node = "n1";
  answer.incarnation = "inc";
  answer.gateway_id = {7, "store"};
  answer.uid = "u1";
  answer.epoch = {7, 9};
  return answer;
}

// `payload` with one member replaced by the JSON text `value`, or removed when that is null.
std::string with(const std::string& payload, const char* key, const char* value) {
  Json json = *Json::parse(payload);
  if (value == nullptr) {
    json.erase(key);
  } else {
    json.set(key, *Json::parse(value));
  }
  return json.dump();
}

std::string error_of(const std::string& payload) {
  const Result<Request> request = decode_request(payload);
  return request ? "decoded" : request.error().message();
}

TEST(Messages, APreBindRoundTrips) {
  const Request sent = pre_bind();
  const Result<Request> got = decode_request(encode(sent));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->type, RequestType::pre_bind);
  EXPECT_EQ(got->gateway, "gw");
  EXPECT_EQ(got->gateway_id, sent.gateway_id);
  EXPECT_EQ(got->incarnation, "inc");
  EXPECT_EQ(got->floor, sent.floor);
  EXPECT_EQ(got->uid, "u1");
  EXPECT_EQ(got->epoch, sent.epoch);
  EXPECT_EQ(got->pod, kPod);
  EXPECT_EQ(got->volumes, sent.volumes);
  EXPECT_EQ(got->promise_ms, 30000);
}

const Via kVia{"k3dj9x", "gw", {7, "store"}, "inc"};

TEST(Messages, ViaANameThatTheDeviceHasSaidAPreBindSaysNothingTwice) {
  Request sent = pre_bind();
  sent.via = kVia.name;
  sent.uid_in_pod = true;
  sent.volumes.clear();
  sent.promise_ms = kUsualPromiseMs;
  const std::string payload = encode(sent);
  EXPECT_EQ(payload, R"({"via":"k3dj9x","preBind":"9007199254740993","floor":"3","pod":)" + std::string(kPod) + "}");
  Result<Request> got = decode_request(payload);
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_TRUE(kVia.resolve(*got));
  EXPECT_EQ(got->gateway, "gw");
  EXPECT_EQ(got->gateway_id, sent.gateway_id);
  EXPECT_EQ(got->incarnation, "inc");
  EXPECT_EQ(got->floor, sent.floor);
  EXPECT_EQ(got->uid, "u1");
  EXPECT_EQ(got->epoch, sent.epoch);
  EXPECT_EQ(got->promise_ms, kUsualPromiseMs);
}

TEST(Messages, ViaANameWhatIsUnusualIsSaid) {
  Request sent = pre_bind();
  sent.via = kVia.name;
  sent.epoch = {6, 9};  // of an earlier term
  sent.floor = {};
  Result<Request> got = decode_request(encode(sent));
  ASSERT_TRUE(got && kVia.resolve(*got));
  EXPECT_EQ(got->epoch, sent.epoch);
  EXPECT_TRUE(got->floor.is_zero());
  EXPECT_EQ(got->uid, "u1");
  EXPECT_EQ(got->promise_ms, 30000);
  EXPECT_EQ(got->volumes, sent.volumes);
}

TEST(Messages, AnotherNameStandsForNothing) {
  Request bind(RequestType::bind);
  bind.via = "k3dj9y";
  bind.gateway_id = {7, "store"};
  bind.epoch = {7, 9};
  EXPECT_EQ(encode(bind), R"({"via":"k3dj9y","bind":"9"})");
  Result<Request> got = decode_request(encode(bind));
  ASSERT_TRUE(got);
  EXPECT_FALSE(kVia.resolve(*got));
  EXPECT_TRUE(got->gateway_id.store_id.empty());
  got->via.clear();
  EXPECT_FALSE(Via{}.resolve(*got)) << "who has said no name is not asked by none";
}

TEST(Messages, AnswersGoViaTheNameOfTheirRequestWhenTheyAreExpected) {
  Answer bound = answer_of(AnswerType::bound);
  bound.via = kVia.name;
  bound.at = {3, 8};
  bound.epoch_alone = true;
  EXPECT_EQ(encode(bound), R"({"via":"k3dj9x","bound":"9","at":"3.8"})");
  Result<Answer> got = decode_answer(encode(bound), "n1");
  ASSERT_TRUE(got && kVia.resolve(*got));
  EXPECT_EQ(got->type, AnswerType::bound);
  EXPECT_EQ(got->node, "n1");
  EXPECT_EQ(got->incarnation, "inc");
  EXPECT_EQ(got->gateway_id, bound.gateway_id);
  EXPECT_EQ(got->epoch, bound.epoch);
  EXPECT_EQ(got->at, bound.at);
  Answer stale = answer_of(AnswerType::stale);
  stale.via = kVia.name;
  stale.high = stale.epoch;
  EXPECT_EQ(decode_answer(encode(stale), "n1")->incarnation, "inc") << "in full";
}

TEST(Messages, AListOfRequestsInFullAndViaANameKeepsThemApart) {
  Request named = pre_bind();
  named.via = kVia.name;
  named.promise_ms = kUsualPromiseMs;
  Request full = pre_bind();
  Request again = pre_bind();
  again.uid = "u2";
  const std::vector<std::string> payloads = encode_all(std::vector<Request>{full, named, again});
  ASSERT_EQ(payloads.size(), 1u);
  std::vector<Result<Request>> got = decode_requests(payloads[0]);
  ASSERT_EQ(got.size(), 3u);
  ASSERT_TRUE(got[1] && kVia.resolve(*got[1])) << payloads[0];
  EXPECT_EQ(encode(*got[1]), encode(named));
  EXPECT_EQ(encode(*got[0]), encode(full));
  EXPECT_EQ(encode(*got[2]), encode(again));
}

TEST(Messages, OfWhatGoesViaANameTheFaultIsNamed) {
  EXPECT_EQ(error_of(R"({"via":"k3dj9x"})"), "bind: is missing; must be an epoch, \"<term>.<counter>\"");
  EXPECT_EQ(error_of(R"({"via":"k3dj9x","bind":"0"})"), "bind: must not be 0, which means none");
  EXPECT_EQ(error_of(R"({"via":"k3dj9x","bind":"x"})"), "bind: must be a string of digits below 2^64");
  EXPECT_EQ(error_of(R"({"via":"k3dj9x","preBind":"4"})"), "uid: is missing, here and in pod.metadata");
  EXPECT_EQ(error_of(R"({"via":"","bind":"4"})"), "via: must not be empty");
  EXPECT_FALSE(decode_answer(R"({"via":"k3dj9x","preBound":4})", "n1"));
}

TEST(Messages, AVolumeThatIsToBeMadeRoundTripsAndFaultsAreNamed) {
  Request sent = pre_bind();
  sent.volumes[0].make = VolumeToMake{"fast", std::int64_t{1} << 40};
  const Result<Request> got = decode_request(encode(sent));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->volumes, sent.volumes);
  const auto fault = [&](const std::string& make) {
    const std::string volumes = R"([{"claim":"d/c","volume":"v","path":"/p","make":)" + make + "}]";
    return error_of(with(encode(sent), "volumes", volumes.c_str()));
  };
  EXPECT_EQ(fault(R"({"class":"fast"})"), "volumes[0].make.bytes: is missing; must be a number as a string of digits");
  EXPECT_EQ(fault(R"({"class":"fast","bytes":"0"})"), "volumes[0].make.bytes: must be more than 0, and below 2^62");
  EXPECT_EQ(fault(R"({"class":"fast","bytes":"18446744073709551615"})"),
            "volumes[0].make.bytes: must be more than 0, and below 2^62");
}

TEST(Messages, ADeleteOfAVolumeAndItsAnswerRoundTrip) {
  Request sent(RequestType::delete_volume);
  sent.gateway = "gw";
  sent.gateway_id = {7, "store"};
  sent.incarnation = "inc";
  sent.floor = {7, 3};
  sent.epoch = {7, 8};
  sent.volume = "pvc-1";
  sent.path = "/pool/pvc-1";
  const Result<Request> got = decode_request(encode(sent));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->type, RequestType::delete_volume);
  EXPECT_EQ(got->incarnation, "inc");
  EXPECT_EQ(got->epoch, sent.epoch);
  EXPECT_EQ(got->volume, "pvc-1");
  EXPECT_EQ(got->path, "/pool/pvc-1");
  EXPECT_EQ(got->uid, "");
  EXPECT_FALSE(decode_request(with(encode(sent), "incarnation", nullptr)));
  EXPECT_FALSE(decode_request(with(encode(sent), "volume", R"("../x")")));
  Answer answer = answer_of(AnswerType::volume_deleted);
  answer.uid.clear();
  answer.volume = "pvc-1";
  const Result<Answer> told = decode_answer(encode(answer), "n1");
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(told->volume, "pvc-1");
  EXPECT_EQ(told->epoch, answer.epoch);
}

TEST(Messages, AListMayTellTheTime) {
  Request list(RequestType::list);
  list.gateway = "gw";
  list.gateway_id = {7, "store"};
  list.floor = {7, 3};
  const std::string without = encode(list);
  EXPECT_EQ(Json::parse(without)->find("time"), nullptr);
  EXPECT_EQ(decode_request(without)->time, 0);
  list.time = 1'800'000'000'123;
  EXPECT_EQ(Json::parse(encode(list))->string_at("time"), "1800000000123");
  EXPECT_EQ(decode_request(encode(list))->time, list.time);
  EXPECT_EQ(decode_request(with(without, "time", R"("18446744073709551615")"))->time,
            std::numeric_limits<Millis>::max());
  for (const char* wrong : {R"("-1")", R"("")", R"("soon")", "7", "{}", R"("18446744073709551616")"}) {
    EXPECT_TRUE(error_of(with(without, "time", wrong)).starts_with("time: must be ")) << wrong;
  }
}

TEST(Messages, EncodeTheManifestAsAnObjectAndLongNumbersAsStrings) {
  const Result<Json> json = Json::parse(encode(pre_bind()));
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->find("pod")->is_object());
  EXPECT_EQ(json->find("epoch")->as_string(), "7.9007199254740993");
  EXPECT_EQ(json->find("term")->as_string(), "7");
  EXPECT_EQ(json->find("promiseMs")->as_string(), "30000");
}

TEST(Messages, EveryRequestTypeRoundTrips) {
  for (const RequestType type : {RequestType::bind, RequestType::release, RequestType::list, RequestType::heartbeat}) {
    Request sent = pre_bind();
    sent.type = type;
    sent.page = 3;
    sent.list_id = 18446744073709551615u;
    sent.sequence = 12;
    const Result<Request> got = decode_request(encode(sent));
    ASSERT_TRUE(got) << to_string(type) << got.error().message();
    EXPECT_EQ(got->type, type);
    const bool names_a_pod = type == RequestType::bind || type == RequestType::release;
    EXPECT_EQ(got->uid, names_a_pod ? "u1" : "");
    EXPECT_EQ(got->list_id, type == RequestType::list ? sent.list_id : 0);
    EXPECT_EQ(got->page, type == RequestType::list ? 3u : 0u);
    EXPECT_EQ(got->sequence, type == RequestType::heartbeat ? 12u : 0u);
  }
}

TEST(Messages, AListNeedsNoIncarnation) {
  Request list(RequestType::list);
  list.gateway = "gw";
  list.gateway_id = {1, "store"};
  EXPECT_TRUE(decode_request(encode(list)));
}

TEST(Messages, EveryAnswerTypeRoundTripsWithItsSender) {
  for (const AnswerType type : {AnswerType::pre_bound, AnswerType::bound, AnswerType::released, AnswerType::rejected,
                                AnswerType::stale, AnswerType::superseded, AnswerType::hello}) {
    Answer sent = answer_of(type);
    sent.reason = "insufficient memory: 64Mi asked, 40Mi free";
    sent.high = {7, 10};
    if (type == AnswerType::hello) sent.to_incarnation = "old";
    const Result<Answer> got = decode_answer(encode(sent), "n2");
    ASSERT_TRUE(got) << to_string(type) << got.error().message();
    EXPECT_EQ(got->type, type);
    EXPECT_EQ(got->node, "n2");
    EXPECT_EQ(got->incarnation, "inc");
    EXPECT_EQ(got->gateway_id, sent.gateway_id);
    EXPECT_EQ(got->uid, "u1");
    EXPECT_EQ(got->epoch, sent.epoch);
    EXPECT_EQ(got->reason, type == AnswerType::rejected ? sent.reason : "");
    EXPECT_EQ(got->high, type == AnswerType::stale ? sent.high : Epoch{});
    EXPECT_EQ(got->to_incarnation, type == AnswerType::hello ? "old" : "");
  }
}

TEST(Messages, SlotsRoundTripWithTheirManifests) {
  Answer sent(AnswerType::slots);
  sent.incarnation = "inc";
  sent.gateway_id = {7, "store"};
  sent.page = 1;
  sent.pages = 2;
  sent.list_id = 5;
  sent.slots = {{"u1", {7, 9}, SlotState::running, kPod, {{"default/c", "n1-d", "/d"}}},
                {"u2", {7, 10}, SlotState::stopping, "", {}}};
  sent.kept_volumes = {{"pvc-1", "/pool/pvc-1", "default/c", 4096}, {"pvc-2", "/pool/pvc-2"}};
  const Result<Answer> got = decode_answer(encode(sent), "n1");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->page, 1u);
  EXPECT_EQ(got->pages, 2u);
  EXPECT_EQ(got->list_id, 5u);
  ASSERT_EQ(got->slots.size(), 2u);
  EXPECT_EQ(got->slots[0].pod, kPod);
  EXPECT_EQ(got->slots[0].state, SlotState::running);
  EXPECT_EQ(got->slots[0].volumes, (std::vector<BoundVolume>{{"default/c", "n1-d", "/d"}}));
  EXPECT_EQ(got->slots[1].uid, "u2");
  EXPECT_EQ(got->slots[1].epoch, (Epoch{7, 10}));
  EXPECT_EQ(got->slots[1].pod, "");
  EXPECT_EQ(got->kept_volumes, sent.kept_volumes);
}

TEST(Messages, AnEmptyListingIsOnePage) {
  Answer sent(AnswerType::slots);
  sent.incarnation = "inc";
  sent.gateway_id = {7, "store"};
  EXPECT_FALSE(decode_answer(encode(sent), "n1"));
  sent.pages = 1;
  EXPECT_TRUE(decode_answer(encode(sent), "n1"));
}

TEST(Messages, AnInvalidFieldIsNamedByItsPath) {
  const std::string good = encode(pre_bind());
  EXPECT_EQ(error_of(good), "decoded");
  EXPECT_EQ(error_of(with(good, "type", nullptr)), "type: is missing; must be a string");
  EXPECT_EQ(error_of(with(good, "type", "\"Prebind\"")),
            "type: must be one of PreBind, Bind, Release, List, Heartbeat, Certificate, DeleteVolume, Configs, Config");
  EXPECT_EQ(error_of(with(good, "epoch", "\"7\"")), "epoch: \"7\" is not an epoch; write \"<term>.<counter>\"");
  EXPECT_EQ(error_of(with(good, "epoch", "\"0.0\"")), "epoch: must not be 0.0, which means none");
  EXPECT_EQ(error_of(with(good, "epoch", "7.5")), "epoch: must be an epoch, \"<term>.<counter>\"");
  EXPECT_EQ(error_of(with(good, "term", "7")), "term: must be a number as a string of digits");
  EXPECT_EQ(error_of(with(good, "term", "\"-7\"")), "term: must be a string of digits below 2^64");
  EXPECT_EQ(error_of(with(good, "gateway", "\"a/b\"")),
            "gateway: must be a name: lower-case letters, digits, '.' and '-'");
  EXPECT_EQ(error_of(with(good, "uid", "\"../x\"")), "uid: must be 1 to 128 letters, digits, '.', '_' or '-'");
  EXPECT_EQ(error_of(with(good, "incarnation", "\"\"")), "incarnation: must not be empty");
  EXPECT_EQ(error_of(with(good, "floor", nullptr)), "floor: is missing; must be an epoch, \"<term>.<counter>\"");
  EXPECT_EQ(error_of(with(good, "pod", "\"text\"")), "pod: must be an object");
  EXPECT_EQ(error_of(with(good, "promiseMs", "\"99999999999999\"")),
            "promiseMs: must be at most one year in milliseconds");
  EXPECT_EQ(error_of(with(good, "volumes", "{}")), "volumes: must be an array");
  EXPECT_EQ(error_of(with(good, "volumes", "[{\"claim\":\"d/c\",\"volume\":\"v\",\"path\":\"/p\"},{\"claim\":1}]")),
            "volumes[1].claim: must be a string");
  EXPECT_EQ(error_of(with(good, "volumes", "[3]")), "volumes[0]: must be an object");
  EXPECT_EQ(error_of("[]"), "payload: must be an object");
}

TEST(Messages, AnInvalidPageNumberIsRefused) {
  Request list(RequestType::list);
  list.gateway = "gw";
  list.gateway_id = {1, "store"};
  for (const char* page : {"-1", "1.5", "4294967296", "\"1\"", "null"}) {
    EXPECT_TRUE(error_of(with(encode(list), "page", page)).starts_with("page: must be")) << page;
  }
}

TEST(Messages, AnAnswerAboutAPodMustNameIt) {
  for (const AnswerType type : {AnswerType::rejected, AnswerType::released, AnswerType::stale}) {
    const Result<Answer> got = decode_answer(with(encode(answer_of(type)), "uid", nullptr), "n1");
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().message(), "uid: is missing; must be a string");
  }
}

TEST(Messages, AnUnsolicitedHelloEchoesNothing) {
  const Result<Answer> got = decode_answer(R"({"type":"Hello","incarnation":"inc"})", "n1");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->uid.empty());
  EXPECT_TRUE(got->to_incarnation.empty());
}

TEST(Messages, APayloadOver64KiBIsRefused) {
  Request request = pre_bind();
  request.pod = "{\"x\":\"" + std::string(65536, 'a') + "\"}";
  EXPECT_FALSE(decode_request(encode(request)));
  request.pod = "{\"x\":\"" + std::string(56 * 1024, 'a') + "\"}";
  EXPECT_TRUE(decode_request(encode(request)));
}

std::vector<Request> binds(std::size_t count, std::size_t name_bytes = 10) {
  std::vector<Request> requests;
  for (std::size_t number = 0; number < count; ++number) {
    requests.push_back(pre_bind());
    requests.back().uid = std::string(name_bytes, 'u') + std::to_string(number);
    requests.back().epoch = {7, number + 1};
    requests.back().type = RequestType::bind;
  }
  return requests;
}

TEST(Messages, AListHasSharedMembersOnceAndRoundTrips) {
  std::vector<Request> sent = binds(3);
  sent[1] = pre_bind();
  sent[2].floor = {7, 4};
  const std::vector<std::string> payloads = encode_all(sent);
  ASSERT_EQ(payloads.size(), 1u);
  EXPECT_EQ(payloads[0].find("storeId"), payloads[0].rfind("storeId")) << payloads[0];
  EXPECT_LT(payloads[0].find("storeId"), payloads[0].find("items"));
  const std::vector<Result<Request>> got = decode_requests(payloads[0]);
  ASSERT_EQ(got.size(), 3u);
  for (std::size_t index = 0; index < 3; ++index) {
    ASSERT_TRUE(got[index]) << got[index].error().message();
    EXPECT_EQ(encode(*got[index]), encode(sent[index]));
  }
}

TEST(Messages, APreBoundOrBoundMayLeaveOutTheUid) {
  for (const AnswerType type : {AnswerType::pre_bound, AnswerType::bound}) {
    Answer answer = answer_of(type);
    answer.epoch_alone = true;
    EXPECT_EQ(encode(answer).find("uid"), std::string::npos);
    const Result<Answer> got = decode_answer(encode(answer), "n1");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->uid, "");
    EXPECT_EQ(got->epoch, answer.epoch);
  }
}

TEST(Messages, APreBindMayHaveTheUidInItsManifestOnly) {
  Request request = pre_bind();
  request.pod = R"({"metadata":{"uid":"u1"}})";
  request.uid_in_pod = true;
  const std::string payload = encode(request);
  EXPECT_EQ(payload.find("u1"), payload.rfind("u1"));
  const Result<Request> got = decode_request(payload);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->uid, "u1");
  EXPECT_EQ(error_of(with(payload, "pod", R"({"metadata":{"uid":"../x"}})")),
            "pod.metadata.uid: must be 1 to 128 letters, digits, '.', '_' or '-'");
  EXPECT_EQ(error_of(with(payload, "pod", "{}")), "uid: is missing, here and in pod.metadata");
}

TEST(Messages, AListHasTheMostFrequentTypeAndItemsOverrideIt) {
  std::vector<Request> sent = binds(1);
  for (int more = 0; more < 2; ++more) {
    sent.push_back(pre_bind());
    sent.back().epoch.counter += static_cast<std::uint64_t>(more);
  }
  const std::vector<std::string> payloads = encode_all(sent);
  ASSERT_EQ(payloads.size(), 1u);
  for (const char* part : {"\"PreBind\"", "\"Bind\"", "promiseMs"}) {
    EXPECT_NE(payloads[0].find(part), std::string::npos) << part;
    EXPECT_EQ(payloads[0].find(part), payloads[0].rfind(part)) << part;
  }
  const std::vector<Result<Request>> got = decode_requests(payloads[0]);
  ASSERT_EQ(got.size(), 3u);
  for (std::size_t index = 0; index < 3; ++index) EXPECT_EQ(encode(*got[index]), encode(sent[index]));
}

TEST(Messages, ASingleMessageIsNotAList) {
  EXPECT_EQ(encode_all(std::vector<Request>{pre_bind()}), std::vector<std::string>{encode(pre_bind())});
  EXPECT_TRUE(encode_all(std::vector<Answer>{}).empty());
}

TEST(Messages, AreSplitIntoSeveralListsAtTheLimits) {
  const std::vector<std::string> many = encode_all(binds(2 * kMaxItems + 1));
  ASSERT_EQ(many.size(), 3u);
  EXPECT_EQ(decode_requests(many[1]).size(), kMaxItems);
  EXPECT_EQ(decode_requests(many[2]).size(), 1u);
  EXPECT_EQ(many[2].find("items"), std::string::npos);

  std::vector<Request> large;
  for (const std::size_t bytes : {56u * 1024, 5u * 1024, 5u * 1024, 59u * 1024, 5u * 1024}) {
    large.push_back(pre_bind());
    large.back().pod = R"({"x":")" + std::string(bytes, 'a') + "\"}";
    large.back().epoch.counter += bytes;
  }
  std::vector<std::string> again;
  for (const std::string& payload : encode_all(large)) {
    EXPECT_LE(payload.size(), 65536u);
    for (const Result<Request>& request : decode_requests(payload)) again.push_back(encode(*request));
  }
  ASSERT_EQ(again.size(), large.size());
  for (std::size_t index = 0; index < large.size(); ++index) EXPECT_EQ(again[index], encode(large[index]));
}

TEST(Messages, ALastSingleMessageIsCompleteWithoutTheListsDefaults) {
  std::vector<Request> sent = binds(kMaxItems);
  sent.push_back(pre_bind());
  const std::vector<std::string> payloads = encode_all(sent);
  ASSERT_EQ(payloads.size(), 2u);
  const Result<Request> last = decode_request(payloads[1]);
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_EQ(encode(*last), encode(sent.back()));
}

// Found by the schema: a Release behind PreBinds carried their promise.
TEST(Messages, ALastSingleMessageHasNoMembersOfOtherTypes) {
  std::vector<Request> sent;
  for (std::size_t count = 0; count < kMaxItems; ++count) sent.push_back(pre_bind());
  sent.push_back(binds(1).front());
  const std::vector<std::string> payloads = encode_all(sent);
  ASSERT_EQ(payloads.size(), 2u);
  EXPECT_EQ(payloads[1], encode(sent.back()));
}

TEST(Messages, ItemsOfAListAreDecodedIndependently) {
  const std::string shared = R"({"type":"Bound","incarnation":"inc","term":"7","storeId":"store","items":[)";
  const auto got = decode_answers(shared + R"({"uid":"u1","epoch":"7.1"},{"uid":"u2"},7,{"items":[]},)" +
                                      R"({"type":"Stale","high":"7.9","uid":"u3","epoch":"7.3"}]})",
                                  "n1");
  ASSERT_EQ(got.size(), 5u);
  ASSERT_TRUE(got[0]);
  EXPECT_EQ(got[0]->type, AnswerType::bound);
  EXPECT_EQ(got[0]->node, "n1");
  EXPECT_EQ(got[1].error().message().substr(0, 14), "items[1].epoch");
  EXPECT_EQ(got[2].error().message(), "items[2]: must be an object");
  EXPECT_FALSE(got[3]);
  ASSERT_TRUE(got[4]);
  EXPECT_EQ(got[4]->type, AnswerType::stale) << "the item's own member takes precedence";
}

TEST(Messages, AnEmptyOrOversizedListIsOneError) {
  std::string items = "{}";
  for (std::size_t more = 0; more < kMaxItems; ++more) items += ",{}";
  for (const std::string& wrong : {std::string(), items, std::string("[]")}) {
    const std::string payload = wrong == "[]" ? R"({"items":{}})" : R"({"items":[)" + wrong + "]}";
    const auto got = decode_requests(payload);
    ASSERT_EQ(got.size(), 1u) << payload;
    EXPECT_EQ(got[0].error().message(), "items: must be an array of 1 to 32 messages");
  }
}

// Any bytes decode to a message or an error; sanitizers check the rest.
TEST(Messages, BrokenBytesNeverCrash) {
  Random random(1);
  const std::string good[] = {encode(pre_bind()), encode(answer_of(AnswerType::stale)), encode_all(binds(2)).front()};
  for (int round = 0; round < rounds(20000); ++round) {
    std::string bytes = good[round % 3];
    for (std::uint64_t edits = 1 + random.below(4); edits > 0 && !bytes.empty(); --edits) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(3)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes.erase(at, 1 + random.below(8)); break;
        default: bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(8))); break;
      }
    }
    if (const Result<Request> request = decode_request(bytes); request) {
      EXPECT_FALSE(request->gateway.empty());
    }
    if (const Result<Answer> answer = decode_answer(bytes, "n1"); answer) {
      EXPECT_FALSE(answer->incarnation.empty());
    }
  }
}

constexpr char kSigningRequest[] = "-----BEGIN CERTIFICATE REQUEST-----\nMQ==\n-----END CERTIFICATE REQUEST-----\n";
constexpr char kIssued[] = "-----BEGIN CERTIFICATE-----\nMQ==\n-----END CERTIFICATE-----\n";

TEST(Messages, ARenewRoundTripsAndMustHoldASigningRequest) {
  Answer renew(AnswerType::renew);
  renew.incarnation = "inc";
  renew.certificate_request = kSigningRequest;
  const std::string payload = encode(renew);
  const Result<Answer> got = decode_answer(payload, "n1");
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->certificate_request, kSigningRequest);
  EXPECT_EQ(got->node, "n1");
  for (const char* wrong : {"null", "7", "\"\"", "\"x\"", "[]"}) {
    EXPECT_FALSE(decode_answer(with(payload, "request", wrong), "n1")) << wrong;
  }
  EXPECT_FALSE(decode_answer(with(payload, "request", nullptr), "n1"));
  const Result<Answer> refused = decode_answer(with(payload, "request", "\"x\""), "n1");
  EXPECT_EQ(refused.error().message(), "request: must be one CERTIFICATE REQUEST in PEM, of at most 8192 bytes");
}

TEST(Messages, ACertificateRoundTripsAndIsOneOrARefusal) {
  Request answer(RequestType::certificate);
  answer.gateway = "gw";
  answer.gateway_id = {7, "store"};
  answer.floor = {7, 3};
  answer.certificate = kIssued;
  Result<Request> got = decode_request(encode(answer));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->certificate, kIssued);
  EXPECT_EQ(got->refusal, "");
  EXPECT_EQ(error_of(with(encode(answer), "certificate", "\"x\"")),
            "certificate: must be one CERTIFICATE in PEM, of at most 8192 bytes");
  EXPECT_EQ(error_of(with(encode(answer), "certificate", nullptr)), "refusal: is missing; must be a string");
  answer.certificate.clear();
  answer.refusal = "revoked";
  answer.retry_ms = 60'000;
  got = decode_request(encode(answer));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->refusal, "revoked");
  EXPECT_EQ(got->retry_ms, 60'000);
}

}  // namespace
}  // namespace berth
