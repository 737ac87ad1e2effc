#include "tests/sim/mutants.h"

#include <algorithm>
#include <utility>

#include "core/agent/records.h"
#include "core/json/json.h"
#include "tests/sim/witness.h"

namespace berth::sim {

namespace {

void erase_member(MemoryStore& flash, std::string_view member) {
  const auto found = flash.durable().find({Table::meta, "gateway"});
  if (found == flash.durable().end()) return;
  Result<Json> json = Json::parse(found->second.value);
  if (!json) return;
  json->erase(member);
  flash.put(Table::meta, "gateway", json->dump());
}

}  // namespace

std::optional<AgentRecords> stored_incarnation(const Contents& flash) {
  const auto record = flash.find({Table::meta, std::string(kIncarnationKey)});
  if (record == flash.end()) return std::nullopt;
  AgentRecords read;
  const Status decoded = decode_record({Table::meta, record->first.second, record->second.value, 0}, read);
  return decoded.is_success() ? std::optional(std::move(read)) : std::nullopt;
}

const std::vector<MutantName>& mutants() {
  static const std::vector<MutantName> kMutants{
      {Mutant::n0, "N0", "surviving workloads are kept at a store's first boot"},
      {Mutant::n1, "N1", "a request for another incarnation is accepted"},
      {Mutant::n2, "N2", "hi is lost at each start"},
      {Mutant::n3, "N3", "Bound is sent regardless of the slot"},
      {Mutant::n3_pull, "N3p", "images are fetched before Bind"},
      {Mutant::n3_pulled, "N3g", "a pod whose image was fetched is not let go"},
      {Mutant::n4, "N4", "Released is sent before the workload has stopped"},
      {Mutant::n4_output, "N4o", "no Release ends what is kept of a pod's output"},
      {Mutant::n4_pull, "N4p", "a Release does not end the pull of the pod's image"},
      {Mutant::n5, "N5", "a promise is kept far longer than requested"},
      {Mutant::n6, "N6", "statuses that the broker retains are not read, and the gateway clears none"},
      {Mutant::n7, "N7", "nobody asks whose the store is"},
      {Mutant::n8, "N8", "an agent does not look at the mark of its store"},
      {Mutant::n8_told, "N8t", "an agent does not compare what the gateway has heard of its store"},
      {Mutant::n9, "N9", "an agent believes whatever time a gateway says"},
      {Mutant::n11, "N11", "an agent loses its records of the volumes that it has made at each start"},
      {Mutant::n11l, "N11l", "an agent does not limit its volumes again at its start"},
      {Mutant::n11e, "N11e", "an agent takes every directory of its pool for empty"},
      {Mutant::n12, "N12", "a request by any name is taken for one of now"},
      {Mutant::p1, "P1", "PreBind is sent although its row is not on flash"},
      {Mutant::p2, "P2", "Bind is sent although phase bind is not on flash"},
      {Mutant::p3, "P3", "a Hello ends the row without its echo"},
      {Mutant::p4, "P4", "a restart loses the rows in prebind"},
      {Mutant::p5, "P5", "an answer counts for the row regardless of its epoch"},
      {Mutant::p6, "P6", "a restart loses the release lists"},
      {Mutant::p7, "P7", "a row ends when its Release is sent"},
      {Mutant::p8, "P8", "adopt mode is lost at a restart"},
      {Mutant::p8_page, "P8p", "the first page of a listing counts as complete"},
      {Mutant::p9, "P9", "forgotten nodes are not durable"},
      {Mutant::p10, "P10", "the floor is not durable"},
      {Mutant::p11, "P11", "an older copy of the store is not noticed"},
      {Mutant::p12, "P12", "the proof of a term is not checked"},
      {Mutant::p12_before, "P12b", "whom a node has obeyed before is not heard"},
      {Mutant::p13, "P13", "a gateway serves whether another one does or not"},
      {Mutant::p13_follow, "P13f", "who takes over does not ask what the other gateway has placed"},
      {Mutant::p13_term, "P13t", "who led with the same store is not told from a copy of it by the term"},
      {Mutant::p13_copy, "P13c", "one of the same machine is taken for gone though it is heard"},
      {Mutant::p14, "P14", "no object is made of what a device holds"},
      {Mutant::p14_hold, "P14h", "a workload that was found does not hold its name"},
      {Mutant::p14_name, "P14n", "of two pods of a name both stay, whatever the configuration says"},
      {Mutant::p15, "P15", "a lost store is taken for new"},
      {Mutant::p15_word, "P15w", "what speaks against a new store is not heard"},
      {Mutant::p16, "P16", "past orders are not remembered"},
      {Mutant::p17, "P17", "a pod with spec.nodeName that has to wait is placed anywhere"},
      {Mutant::p18, "P18", "a volume counts as deleted once its device was asked"},
      {Mutant::p18_orphan, "P18o", "directories that no volume names are not heard of"},
      {Mutant::d1, "D1", "the host name that a device says counts"},
      {Mutant::d2, "D2", "no node is passed over for long"},
      {Mutant::d3, "D3", "what devices report has no limits"},
      {Mutant::d4, "D4", "the gateway clears no status of a device"},
      {Mutant::d5, "D5", "a Hello is believed however lately the other device was heard"},
      {Mutant::d5_copy, "D5c", "a machine id proves as much as the serial number of a board"},
      {Mutant::d6, "D6", "what a device has refused, it is asked again at once"},
      {Mutant::d7, "D7", "what devices say that they can do is not heard"},
  };
  return kMutants;
}

std::optional<Mutant> find_mutant(std::string_view rule) {
  for (const MutantName& known : mutants()) {
    if (known.rule == rule) return known.mutant;
  }
  return std::nullopt;
}

void forget_at_start_of_gateway(MemoryStore& flash, Mutant mutant) {
  switch (mutant) {
    case Mutant::p4:
      for (const auto& [id, content] : only(flash.durable(), Table::row)) {
        if (content.phase == static_cast<int>(Phase::prebind)) flash.erase(Table::row, id.second);
      }
      break;
    case Mutant::p6:
      for (const auto& [id, content] : only(flash.durable(), Table::release)) flash.erase(Table::release, id.second);
      break;
    case Mutant::p8: erase_member(flash, "adopt"); break;
    case Mutant::p9: erase_member(flash, "retired"); break;
    default: return;
  }
  (void)flash.commit();
}

void forget_at_start_of_device(MemoryStore& flash, Mutant mutant, const DeviceIdentity& own) {
  if (mutant == Mutant::n2) {
    for (const auto& [id, content] : only(flash.durable(), Table::high)) flash.erase(Table::high, id.second);
  } else if (mutant == Mutant::n7) {
    if (std::optional<AgentRecords> stored = stored_incarnation(flash.durable())) {
      stored->identity = own;
      flash.put(Table::meta, std::string(kIncarnationKey), encode_incarnation(*stored));
    }
  } else if (mutant == Mutant::n11) {
    for (const auto& [id, content] : only(flash.durable(), Table::meta)) {
      if (id.second.starts_with(kVolumeKeys)) flash.erase(Table::meta, id.second);
    }
  } else if (mutant == Mutant::p10) {
    flash.erase(Table::meta, std::string(kFloorKey));
  } else {
    return;
  }
  (void)flash.commit();
}

Answer misread(Answer answer, const Row* row, const ProofKey& key, Mutant mutant) {
  if (mutant == Mutant::p12 && answer.type == AnswerType::superseded) {
    answer.proof = make_proof(key, answer.gateway_id, answer.node);
  }
  if (mutant == Mutant::p12_before) answer.obeyed_before.clear();
  for (SlotReport& slot : answer.slots) {
    const Result<Json> pod = mutant == Mutant::p14 ? Json::parse(slot.pod) : Status::error("");
    if (!pod) continue;
    Json spoiled = *pod;  // its name can be read, and it is no manifest that is accepted
    spoiled.erase("spec");
    slot.pod = spoiled.dump();
  }
  if (mutant == Mutant::p18_orphan) answer.kept_volumes.clear();
  if (mutant == Mutant::p8_page && answer.page == 0) answer.pages = std::min<std::uint32_t>(answer.pages, 1);
  if (row == nullptr || answer.node != row->node) return answer;
  if (mutant == Mutant::p3 && answer.type == AnswerType::hello) {
    answer.epoch = row->epoch;
    answer.to_incarnation = row->incarnation;
    if (answer.incarnation == row->incarnation) answer.incarnation = "another";
  }
  if (mutant == Mutant::p5) answer.epoch = answer.high = row->epoch;
  return answer;
}

Request misread(Request request, const std::string& own_incarnation, Mutant mutant) {
  if (mutant == Mutant::n1 && !request.incarnation.empty()) request.incarnation = own_incarnation;
  if (mutant == Mutant::n4_output && request.type == RequestType::release) request.keep_output = true;
  if (mutant == Mutant::n5) request.promise_ms *= 1000;
  if (mutant == Mutant::n8_told) request.seen = {};
  if (mutant == Mutant::p18 && request.type == RequestType::delete_volume) request.incarnation = "another";
  return request;
}

std::optional<Answer> answer_rashly(const Request& request, const std::string& own_incarnation, Mutant mutant) {
  const bool bound = mutant == Mutant::n3 && request.type == RequestType::bind;
  const bool released = mutant == Mutant::n4 && request.type == RequestType::release;
  const bool deleted = mutant == Mutant::p18 && request.type == RequestType::delete_volume;
  if (request.incarnation != own_incarnation || (!bound && !released && !deleted)) return std::nullopt;
  Answer answer(deleted ? AnswerType::volume_deleted : bound ? AnswerType::bound : AnswerType::released);
  answer.volume = request.volume;
  answer.incarnation = own_incarnation;
  answer.gateway_id = request.gateway_id;
  answer.uid = request.uid;
  answer.epoch = request.epoch;
  return answer;
}

}  // namespace berth::sim
