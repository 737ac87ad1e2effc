#include "core/controllers/deployment/deployment_annotations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace berth {
namespace {

constexpr std::size_t kHistoryCharactersMax = 2000;

// Annotations that are not copied between a Deployment and its ReplicaSets.
constexpr std::array<std::string_view, 8> kNotCopied{"kubectl.kubernetes.io/last-applied-configuration",
                                                     kRevision,
                                                     kRevisionHistory,
                                                     kDesiredReplicas,
                                                     kMaxReplicas,
                                                     kRollbackTo,
                                                     kRolloutPlan,
                                                     kRolloutPaused};

bool is_copied(const std::string& key) {
  return std::find(kNotCopied.begin(), kNotCopied.end(), key) == kNotCopied.end();
}

// Null: absent.
const std::string* find_text(const Labels& annotations, std::string_view key) {
  const auto found = annotations.find(std::string(key));
  return found == annotations.end() ? nullptr : &found->second;
}

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Appends a revision; the oldest are dropped when the text would become too long.
std::string longer_history(std::string history, const std::string& revision) {
  if (history.empty()) return revision;
  while (!history.empty() && history.size() + 1 + revision.size() > kHistoryCharactersMax) {
    const std::size_t comma = history.find(',');
    history.erase(0, comma == std::string::npos ? comma : comma + 1);
  }
  return history.empty() ? revision : history + "," + revision;
}

}  // namespace

std::optional<std::int32_t> number_annotation(const ReplicaSet& set, std::string_view key) {
  const std::string* text = find_text(set.metadata.annotations.get(), key);
  return text == nullptr ? std::nullopt : to_number<std::int32_t>(*text);
}

std::optional<std::int64_t> revision_of(const ReplicaSet& set) {
  const std::string* text = find_text(set.metadata.annotations.get(), kRevision);
  return text == nullptr ? std::optional<std::int64_t>(0) : to_number<std::int64_t>(*text);
}

std::int64_t highest_revision(const std::vector<ReplicaSetPtr>& sets) {
  std::int64_t highest = 0;
  for (const ReplicaSetPtr& set : sets) highest = std::max(highest, revision_of(*set).value_or(0));
  return highest;
}

std::int64_t last_but_one_revision(const std::vector<ReplicaSetPtr>& sets) {
  std::int64_t highest = 0, second = 0;
  for (const ReplicaSetPtr& set : sets) {
    const std::int64_t revision = revision_of(*set).value_or(0);
    if (revision >= highest) {
      second = highest;
      highest = revision;
    } else {
      second = std::max(second, revision);
    }
  }
  return second;
}

std::optional<std::int64_t> rollback_revision(const Deployment& deployment) {
  const std::string* text = find_text(deployment.metadata.annotations.get(), kRollbackTo);
  return text == nullptr ? std::nullopt : to_number<std::int64_t>(*text);
}

Labels new_set_annotations(const Deployment& deployment, const Labels& had, std::int64_t revision) {
  Labels annotations = had;
  for (const auto& [key, value] : deployment.metadata.annotations.get()) {
    if (is_copied(key)) annotations[key] = value;
  }
  const std::string* before = find_text(had, kRevision);
  const std::optional<std::int64_t> number = before == nullptr ? 0 : to_number<std::int64_t>(*before);
  if (!number || *number >= revision) return annotations;
  annotations[std::string(kRevision)] = std::to_string(revision);
  if (before != nullptr) {
    std::string& history = annotations[std::string(kRevisionHistory)];
    history = longer_history(history, *before);
  }
  return annotations;
}

void set_size_annotations(const Deployment& deployment, Labels& annotations) {
  const std::int32_t replicas = deployment.spec.replicas;
  annotations[std::string(kDesiredReplicas)] = std::to_string(replicas);
  annotations[std::string(kMaxReplicas)] = std::to_string(replicas + max_surge(deployment));
}

Labels rolled_back_annotations(const Deployment& deployment, const ReplicaSet& set) {
  Labels annotations;
  for (const auto& [key, value] : deployment.metadata.annotations.get()) {
    if (!is_copied(key)) annotations.emplace(key, value);
  }
  for (const auto& [key, value] : set.metadata.annotations.get()) {
    if (is_copied(key)) annotations[key] = value;
  }
  return annotations;
}

}  // namespace berth
