#include "firmware-host/limited_log.h"

namespace berth {

namespace {

constexpr int kTopicLevels = 5;  // berth/v1/<fleet>/nodes/<node>

std::string first_levels(std::string_view topic) {
  std::size_t end = 0;
  for (int level = 0; level < kTopicLevels && end != std::string_view::npos; ++level) end = topic.find('/', end + 1);
  return std::string(topic.substr(0, end));
}

std::string source_of(std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    if (field.key == "node") return field.value;
    if (field.key == "topic") return first_levels(field.value);
  }
  return {};
}

bool is_limited(Level level, std::initializer_list<Field> fields) {
  if (level == Level::error) return false;
  return level == Level::warn || (fields.size() > 0 && fields.begin()->key == "node");
}

}  // namespace

LimitedLog::LimitedLog(Log& to, const Clock& clock) : to_(to), clock_(clock) {}

void LimitedLog::write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (!is_limited(level, fields)) return to_.write(level, event, fields);
  const std::string name(event), source = source_of(fields);
  Count& count = count_of(name, source);
  if (const Millis now = clock_.now(); now - count.since >= kWindowMs) {
    if (count.left_out > 0) {
      to_.write(Level::warn, "records were left out of the log",
                {{"of", name}, {"source", source}, {"count", std::to_string(count.left_out)}});
    }
    count = {now};
  }
  if (count.written >= kRecords) {
    ++count.left_out;
    return;
  }
  ++count.written;
  to_.write(level, event, fields);
  if (count.written == kRecords) {
    to_.write(Level::warn, "further records are left out of the log for a while", {{"of", name}, {"source", source}});
  }
}

LimitedLog::Count& LimitedLog::count_of(const std::string& event, const std::string& source) {
  const std::string key = event + '\n' + source;
  if (const auto known = counts_.find(key); known != counts_.end()) return known->second;
  if (counts_.size() >= kSources) drop_old();
  return counts_.try_emplace(counts_.size() < kSources ? key : event, Count{clock_.now()}).first->second;
}

void LimitedLog::drop_old() {
  const Millis now = clock_.now();
  std::erase_if(counts_,
                [&](const auto& each) { return each.second.left_out == 0 && now - each.second.since >= kWindowMs; });
}

}  // namespace berth
