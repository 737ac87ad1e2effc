// Mutants: each breaks one rule of the handshake, around the product, at its seams: what a program that does not keep
// the rule would do. `--mutants` checks that each is caught within a number of seeds.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/handshake/row.h"
#include "storage/memory_store.h"

namespace berth::sim {

enum class Mutant { none, n0, n1, n2, n3, n4, n5, p1, p2, p3, p4, p5, p6, p7, p8, p8_page, p9, p10 };

struct MutantName {
  Mutant mutant;
  std::string_view rule;
  std::string_view text;  // what is done wrong
};
const std::vector<MutantName>& mutants();
std::optional<Mutant> find_mutant(std::string_view rule);

// What a gateway or device of this mutant finds on its flash at a start: what it did not keep is gone.
void forget_at_start_of_gateway(MemoryStore& flash, Mutant mutant);
void forget_at_start_of_device(MemoryStore& flash, Mutant mutant);

// How a gateway of this mutant reads an answer. `row`: of the answer's uid; null: none.
Answer misread(Answer answer, const Row* row, Mutant mutant);
// How a device of this mutant reads a request.
Request misread(Request request, const std::string& own_incarnation, Mutant mutant);
// What a device says at once, before it has done anything; none: it waits as it should.
std::optional<Answer> answer_rashly(const Request& request, const std::string& own_incarnation, Mutant mutant);

}  // namespace berth::sim
