#include "tests/sim/sim_puller.h"

#include <algorithm>
#include <utility>

#include "core/json/json.h"

namespace berth::sim {

namespace {

constexpr Millis kBytesDayMs = 10'000;  // shorter than a storm, so that bytes of a day run out and come again
constexpr Millis kPartMs = 400;
constexpr Millis kSmallestImageMs = 200;
constexpr std::uint64_t kLargestImageMs = 6000;
constexpr Millis kFirstBackoffMs = 300;
constexpr Millis kLongestBackoffMs = 5000;

}  // namespace

bool SimImages::pin(const Tag& tag) {
  const auto [found, is_new] = images_.try_emplace(tag);
  Image& image = found->second;
  if (is_new && random_.chance(habits_.missing_percent, 100)) {
    image.size = image.left = kSmallestImageMs + static_cast<Millis>(random_.below(kLargestImageMs));
  }
  return image.left == 0;
}

bool SimImages::is_partial(const Tag& tag) const {
  const auto found = images_.find(tag);
  return found != images_.end() && found->second.left > 0 && found->second.left < found->second.size;
}

Status SimImages::fetch(const Tag& tag) {
  const Millis day = clock_.now() / kBytesDayMs;
  if (std::exchange(day_, day) != day) fetched_today_ = 0;
  Image& image = images_.at(tag);
  const Millis part = std::min(image.left, kPartMs);
  if (habits_.ms_per_day > 0 && fetched_today_ + part > habits_.ms_per_day) {
    return Status::error("containers.image_bytes_per_day is used up");
  }
  if (random_.chance(habits_.fails_percent, 100)) return Status::error("the simulated registry does not answer");
  fetched_today_ += part;
  image.left -= part;
  return Status::ok();
}

void SimImages::keep_only(const std::vector<Tag>& tags) {
  std::erase_if(images_,
                [&](const auto& each) { return std::find(tags.begin(), tags.end(), each.first) == tags.end(); });
}

SimPuller::SimPuller(Runtime& behind, SimImages& images, const Clock& clock, Timers& timers, Mutant mutant, Hooks hooks)
    : behind_(behind), images_(images), clock_(clock), timers_(timers), mutant_(mutant), hooks_(std::move(hooks)) {
  behind_.set_handler(this);
}

SimPuller::~SimPuller() {
  while (!waiting_.empty()) forget(Tag(waiting_.begin()->first));
  behind_.set_handler(nullptr);
}

Result<std::vector<Tag>> SimPuller::list() {
  Result<std::vector<Tag>> tags = behind_.list();
  if (tags) images_.keep_only(*tags);
  return tags;
}

void SimPuller::prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  behind_.prepare(tag, pod, volumes);
  if (mutant_ == Mutant::n3_pull && !waiting_.contains(tag) && !images_.pin(tag)) wait(tag, pod, volumes);
}

Result<std::string> SimPuller::start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  if (waiting_.contains(tag)) return std::string();
  if (images_.pin(tag)) return behind_.start(tag, pod, volumes);
  wait(tag, pod, volumes);
  return std::string();
}

void SimPuller::wait(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  hooks_.note(images_.is_partial(tag) ? "pull goes on" : "pull", tag);
  waiting_[tag] = {.pod = pod, .volumes = volumes};
  fetch_later(tag, 1);
}

void SimPuller::fetch_later(const Tag& tag, Millis delay) {
  waiting_.at(tag).timer = timers_.at(clock_.now() + delay, [this, tag] { fetch(tag); });
}

void SimPuller::fetch(const Tag& tag) {
  Waiting& waiting = waiting_.at(tag);
  waiting.timer = 0;
  hooks_.fetches(tag);
  const Status fetched = images_.fetch(tag);
  if (!fetched.is_success()) {
    hooks_.note("pull failed", tag);
    const bool is_again = waiting.delay > 0;
    waiting.delay = is_again ? std::min(2 * waiting.delay, kLongestBackoffMs) : kFirstBackoffMs;
    waiting.is_told = false;
    fetch_later(tag, waiting.delay);
    return report(tag, is_again ? "ImagePullBackOff" : "ErrImagePull", fetched.message());
  }
  waiting.delay = 0;
  if (images_.pin(tag)) return start_behind(tag);
  fetch_later(tag, kPartMs);
  if (!std::exchange(waiting.is_told, true)) report(tag, "ContainerCreating", "Pulling image \"sim\"");
}

void SimPuller::report(const Tag& tag, std::string_view reason, const std::string& message) {
  Json why = Json::object();
  why.set("reason", std::string(reason)).set("message", message);
  Json state = Json::object();
  state.set("waiting", std::move(why));
  Json container = Json::object();
  container.set("name", "main").set("image", "sim").set("ready", false).set("restartCount", 0);
  container.set("state", std::move(state));
  Json status = Json::object();
  status.set("phase", "Pending").set("containerStatuses", Json(Json::Array{std::move(container)}));
  on_status(tag, status.dump(), false);
}

void SimPuller::start_behind(const Tag& tag) {
  const Waiting ready = std::move(waiting_.extract(tag).mapped());
  hooks_.note("pulled", tag);
  const Result<std::string> started = behind_.start(tag, ready.pod, ready.volumes);
  if (!started) {
    on_status(tag, R"({"phase":"Failed","message":")" + started.error().message() + "\"}", true);
  } else if (ready.may_go) {
    behind_.go(tag);
  }
}

void SimPuller::go(const Tag& tag) {
  const auto found = waiting_.find(tag);
  if (found == waiting_.end()) return behind_.go(tag);
  found->second.may_go = mutant_ != Mutant::n3_pulled;
}

void SimPuller::forget(const Tag& tag) {
  const auto found = waiting_.find(tag);
  if (found == waiting_.end()) return;
  timers_.cancel(found->second.timer);
  waiting_.erase(found);
}

void SimPuller::undo(const Tag& tag) {
  if (waiting_.contains(tag)) hooks_.note("pull undone", tag);
  forget(tag);
  behind_.undo(tag);
  images_.unpin(tag);
}

void SimPuller::stop(const Tag& tag, Millis grace) {
  if (waiting_.contains(tag)) hooks_.note("pull stopped", tag);
  if (mutant_ != Mutant::n4_pull) forget(tag);
  behind_.stop(tag, grace);
}

void SimPuller::on_prepared(const Tag& tag, Status status) {
  if (handler_ != nullptr) handler_->on_prepared(tag, std::move(status));
}

void SimPuller::on_status(const Tag& tag, const std::string& status, bool finished) {
  if (handler_ != nullptr) handler_->on_status(tag, status, finished);
}

void SimPuller::on_stopped(const Tag& tag) {
  if (!waiting_.contains(tag)) images_.unpin(tag);
  if (handler_ != nullptr) handler_->on_stopped(tag);
}

}  // namespace berth::sim
