#include "core/objects/node_record.h"

#include "core/bytes.h"

namespace berth {

namespace {

// The form: a first byte; the incarnation, an id; with the second and third one two numbers, a term (of an earlier
// program) or a lead, and the position where it began; the text of the facts; the rest is the packed node.
constexpr char kNodeRecord = 1;
constexpr char kNodeRecordWithTerm = 2;
constexpr char kNodeRecordWithLead = 3;

}  // namespace

bool is_node_record(std::string_view stored) {
  return !stored.empty() && stored.front() >= kNodeRecord && stored.front() <= kNodeRecordWithLead;
}

std::string encode(const NodeRecord& record) {
  ByteWriter out;
  out.byte(record.term_lead.is_zero() ? kNodeRecord : kNodeRecordWithLead);
  out.id(record.incarnation);
  if (!record.term_lead.is_zero()) {
    out.number(record.term_lead.lead);
    out.number(record.term_lead.since);
  }
  out.text(record.facts);
  out.raw(record.packed);
  return out.take();
}

Result<NodeRecord> decode_node_record(std::string_view stored) {
  ByteReader in(stored);
  NodeRecord record;
  if (!is_node_record(stored)) return Status::error("it is no node");
  const char form = static_cast<char>(in.byte());
  record.incarnation = in.id();
  if (form == kNodeRecordWithTerm) {
    record.fixed_term.term = in.number();
    record.fixed_term.counter = in.number();
  } else if (form == kNodeRecordWithLead) {
    record.term_lead.lead = in.number();
    record.term_lead.since = in.number();
  }
  record.facts = in.text();
  record.packed = in.raw(in.left());
  if (!in.ok()) return Status::error("it is cut short");
  return record;
}

}  // namespace berth
