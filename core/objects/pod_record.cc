#include "core/objects/pod_record.h"

#include "core/api/shape.h"
#include "core/bytes.h"

namespace berth {

namespace {

// The form: this byte; the flags below; when it arrived; the uid; the texts of shape, disruption, nominated node,
// observed and successor, the last two empty for none; the rest is the packed pod. Before schema version 3 there was
// no uid, and the manifest in the place of its shape.
constexpr char kPodRecord = 2;
constexpr char kPodRecordBefore3 = 1;
constexpr std::uint64_t kDeleting = 1;
constexpr std::uint64_t kFinished = 2;

// True for none too.
bool is_json(std::string_view text) { return text.empty() || Json::parse(text, {.bytes = 1u << 20, .depth = 80}); }

}  // namespace

bool is_pod_record(std::string_view stored) {
  return stored.starts_with(kPodRecord) || stored.starts_with(kPodRecordBefore3);
}

std::string manifest_text(const PodRecord& record, std::string_view name) {
  return record.uid.empty() ? std::string(record.shape) : fill_shape(record.shape, ByteReader(record.uid).id(), name);
}

std::string encode(const PodRecord& record) {
  ByteWriter out;
  out.byte(kPodRecord);
  out.number((record.deleting ? kDeleting : 0) | (record.finished ? kFinished : 0));
  out.integer(record.arrived);
  out.raw(record.uid);
  for (std::string_view text :
       {record.shape, record.disruption, record.nominated_node, record.observed, record.successor}) {
    out.text(text);
  }
  out.raw(record.packed);
  return out.take();
}

Result<PodRecord> decode_pod_record(std::string_view stored) {
  ByteReader in(stored);
  PodRecord record;
  const char form = static_cast<char>(in.byte());
  if (form != kPodRecord && form != kPodRecordBefore3) return Status::error("it is no pod");
  const std::uint64_t flags = in.number();
  record.deleting = (flags & kDeleting) != 0;
  record.finished = (flags & kFinished) != 0;
  record.arrived = in.integer();
  if (form == kPodRecord) record.uid = in.id_bytes();
  for (std::string_view* text :
       {&record.shape, &record.disruption, &record.nominated_node, &record.observed, &record.successor}) {
    *text = in.text();
  }
  record.packed = in.raw(in.left());
  if (!in.ok()) return Status::error("it is cut short");
  if (!is_json(record.observed)) return Status::error("observed: no JSON");
  if (!is_json(record.successor)) return Status::error("successor: no JSON");
  return record;
}

}  // namespace berth
