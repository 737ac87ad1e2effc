// The stored form of a device node: the value of its record in Table::node.
#pragma once

#include <string>
#include <string_view>

#include "core/handshake/epoch.h"
#include "core/status.h"

namespace berth {

// How the gateway speaks to a node that others gave a higher term (P12): by so much above its own. So each start is a
// new term towards such a node too.
struct TermLead {
  std::uint64_t lead = 0;
  std::uint64_t since = 0;  // the position of the journal where this began
  bool is_zero() const { return lead == 0 && since == 0; }
};

struct NodeRecord {
  std::string incarnation;
  TermLead term_lead;
  Epoch fixed_term;         // of an earlier program, instead: a term, and the position where it began; read only
  std::string_view facts;   // JSON text; empty: never seen
  std::string_view packed;  // the Node that the facts alone make, as pack_node() gave it; empty: none
};

// False: the JSON of an earlier program.
bool is_node_record(std::string_view stored);
std::string encode(const NodeRecord& record);
// The views are into `stored`.
Result<NodeRecord> decode_node_record(std::string_view stored);

}  // namespace berth
