#include "core/objects/node_record.h"

#include "core/bytes.h"

namespace berth {

namespace {

// The form: this byte; the incarnation, an id; the text of the facts; the rest is the packed node.
constexpr char kNodeRecord = 1;

}  // namespace

bool is_node_record(std::string_view stored) { return stored.starts_with(kNodeRecord); }

std::string encode(const NodeRecord& record) {
  ByteWriter out;
  out.byte(kNodeRecord);
  out.id(record.incarnation);
  out.text(record.facts);
  out.raw(record.packed);
  return out.take();
}

Result<NodeRecord> decode_node_record(std::string_view stored) {
  ByteReader in(stored);
  NodeRecord record;
  if (in.byte() != kNodeRecord) return Status::error("it is no node");
  record.incarnation = in.id();
  record.facts = in.text();
  record.packed = in.raw(in.left());
  if (!in.ok()) return Status::error("it is cut short");
  return record;
}

}  // namespace berth
