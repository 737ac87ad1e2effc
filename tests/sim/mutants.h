// Mutants: each breaks one rule of the handshake by manipulating the product's inputs and outputs, as if the program
// did not follow the rule. `--mutants` verifies that each is caught within a number of seeds.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/agent/records.h"
#include "core/handshake/proof.h"
#include "core/handshake/row.h"
#include "storage/memory_store.h"

namespace berth::sim {

enum class Mutant {
  none,
  n0,
  n1,
  n2,
  n3,
  n3_pull,
  n3_pulled,
  n4,
  n4_output,
  n4_pull,
  n5,
  n6,
  n7,
  n8,
  n8_told,
  n9,
  n11,
  n11l,
  n11e,
  n12,
  p1,
  p2,
  p3,
  p4,
  p5,
  p6,
  p7,
  p8,
  p8_page,
  p9,
  p10,
  p11,
  p12,
  p12_before,
  p13,
  p13_follow,
  p13_term,
  p13_copy,
  p14,
  p14_hold,
  p14_name,
  p15,
  p15_word,
  p16,
  p17,
  p18,
  p18_orphan,
  d1,
  d2,
  d3,
  d4,
  d5,
  d5_copy,
  d6,
  d7
};

struct MutantName {
  Mutant mutant;
  std::string_view rule;
  std::string_view text;  // how the rule is broken
};
const std::vector<MutantName>& mutants();
std::optional<Mutant> find_mutant(std::string_view rule);

// Whose the store of a device is: the record of the incarnation; none: there is none, or it cannot be read.
std::optional<AgentRecords> stored_incarnation(const Contents& flash);

// Removes from the flash, before a start, what a gateway or device of this mutant would not have stored.
void forget_at_start_of_gateway(MemoryStore& flash, Mutant mutant);
// `own`: that of the device.
void forget_at_start_of_device(MemoryStore& flash, Mutant mutant, const DeviceIdentity& own);

// How a gateway of this mutant, which has this key, interprets an answer. `row`: that of the answer's uid, or null.
Answer misread(Answer answer, const Row* row, const ProofKey& key, Mutant mutant);
// How a device of this mutant interprets a request.
Request misread(Request request, const std::string& own_incarnation, Mutant mutant);
// A premature answer of a device of this mutant; none: it answers as it should.
std::optional<Answer> answer_rashly(const Request& request, const std::string& own_incarnation, Mutant mutant);

}  // namespace berth::sim
