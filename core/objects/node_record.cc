#include "core/objects/node_record.h"

#include "core/bytes.h"

namespace berth {

namespace {

// The form: a first byte; the incarnation, an id; with the second one the node's term and where it began; the text of
// the facts; the rest is the packed node.
constexpr char kNodeRecord = 1;
constexpr char kNodeRecordWithTerm = 2;

}  // namespace

bool is_node_record(std::string_view stored) {
  return stored.starts_with(kNodeRecord) || stored.starts_with(kNodeRecordWithTerm);
}

std::string encode(const NodeRecord& record) {
  ByteWriter out;
  out.byte(record.term.is_zero() ? kNodeRecord : kNodeRecordWithTerm);
  out.id(record.incarnation);
  if (!record.term.is_zero()) {
    out.number(record.term.term);
    out.number(record.term.counter);
  }
  out.text(record.facts);
  out.raw(record.packed);
  return out.take();
}

Result<NodeRecord> decode_node_record(std::string_view stored) {
  ByteReader in(stored);
  NodeRecord record;
  const char form = static_cast<char>(in.byte());
  if (form != kNodeRecord && form != kNodeRecordWithTerm) return Status::error("it is no node");
  record.incarnation = in.id();
  if (form == kNodeRecordWithTerm) {
    record.term.term = in.number();
    record.term.counter = in.number();
  }
  record.facts = in.text();
  record.packed = in.raw(in.left());
  if (!in.ok()) return Status::error("it is cut short");
  return record;
}

}  // namespace berth
