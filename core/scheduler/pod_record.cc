#include "core/scheduler/pod_record.h"

#include "core/bytes.h"

namespace berth {

namespace {

// The form: this byte; the flags below; when it arrived; the texts of manifest, disruption, nominated node, observed
// and successor, the last two empty for none; the rest is the packed pod.
constexpr char kPodRecord = 1;
constexpr std::uint64_t kDeleting = 1;
constexpr std::uint64_t kFinished = 2;

// True for none too.
bool is_json(std::string_view text) { return text.empty() || Json::parse(text, {.bytes = 1u << 20, .depth = 80}); }

}  // namespace

bool is_pod_record(std::string_view stored) { return stored.starts_with(kPodRecord); }

std::string encode(const PodRecord& record) {
  ByteWriter out;
  out.byte(kPodRecord);
  out.number((record.deleting ? kDeleting : 0) | (record.finished ? kFinished : 0));
  out.integer(record.arrived);
  for (std::string_view text :
       {record.manifest, record.disruption, record.nominated_node, record.observed, record.successor}) {
    out.text(text);
  }
  out.raw(record.packed);
  return out.take();
}

Result<PodRecord> decode_pod_record(std::string_view stored) {
  ByteReader in(stored);
  PodRecord record;
  if (in.byte() != kPodRecord) return Status::error("it is no pod");
  const std::uint64_t flags = in.number();
  record.deleting = (flags & kDeleting) != 0;
  record.finished = (flags & kFinished) != 0;
  record.arrived = in.integer();
  for (std::string_view* text :
       {&record.manifest, &record.disruption, &record.nominated_node, &record.observed, &record.successor}) {
    *text = in.text();
  }
  record.packed = in.raw(in.left());
  if (!in.ok()) return Status::error("it is cut short");
  if (!is_json(record.observed)) return Status::error("observed: no JSON");
  if (!is_json(record.successor)) return Status::error("successor: no JSON");
  return record;
}

}  // namespace berth
