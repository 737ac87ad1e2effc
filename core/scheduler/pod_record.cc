#include "core/scheduler/pod_record.h"

#include "core/bytes.h"

namespace berth {

namespace {

// The form: this byte; the flags below; when it arrived; the texts of manifest, disruption, nominated node, observed
// and successor, the last two empty for none; the rest is the packed pod.
constexpr char kPodRecord = 1;
constexpr std::uint64_t kDeleting = 1;
constexpr std::uint64_t kFinished = 2;

std::string text_or_none(const Json& json) { return json.is_null() ? std::string() : json.dump(); }

Result<Json> json_or_none(std::string_view text) {
  return text.empty() ? Result<Json>(Json()) : Json::parse(text, {.bytes = 1u << 20, .depth = 80});
}

}  // namespace

bool is_pod_record(std::string_view stored) { return stored.starts_with(kPodRecord); }

std::string encode(const PodRecord& record) {
  ByteWriter out;
  out.byte(kPodRecord);
  out.number((record.deleting ? kDeleting : 0) | (record.finished ? kFinished : 0));
  out.integer(record.arrived);
  for (std::string_view text : {record.manifest, record.disruption, record.nominated_node}) out.text(text);
  out.text(text_or_none(record.observed));
  out.text(text_or_none(record.successor));
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
  for (std::string_view* text : {&record.manifest, &record.disruption, &record.nominated_node}) *text = in.text();
  Result<Json> observed = json_or_none(in.text());
  Result<Json> successor = json_or_none(in.text());
  record.packed = in.raw(in.left());
  if (!in.ok()) return Status::error("it is cut short");
  if (!observed) return Status::error("observed: " + observed.error().message());
  if (!successor) return Status::error("successor: " + successor.error().message());
  record.observed = std::move(*observed);
  record.successor = std::move(*successor);
  return record;
}

}  // namespace berth
