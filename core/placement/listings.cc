#include "core/placement/listings.h"

#include <utility>

#include "core/placement/retired.h"

namespace berth {

namespace {

// Some 25,000 slots of one node; pages are kept until the last has come, whoever sends them.
constexpr std::uint32_t kMaxPages = 64;

}  // namespace

Listings::Listings(const PlacementContext& context, RequestSender& sender)
    : context_(context), sender_(sender), last_id_(context.random.next() >> 16) {}

Listings::~Listings() { clear(); }

void Listings::start(const std::string& node, Floor floor) {
  if (!context_.mirror.barrier().is_link_up() || !context_.options.hold.empty()) return;
  Listing& listing = open_[node];
  context_.timers.cancel(listing.resend);
  listing = Listing{};
  listing.id = ++last_id_;
  listing.floor = floor;
  ask_page(node);
}

void Listings::start_later(const std::string& node) {
  Listing& listing = open_[node];
  listing.id = ++last_id_;
  listing.floor = Floor::raise;
  sender_.arm_resend(listing.resend, listing.resends, [this, node] {
    open_.at(node).resend = 0;
    ask_page(node);
  });
}

void Listings::ask_page(const std::string& node) {
  Listing& listing = open_.at(node);
  Request request(RequestType::list);
  while (listing.pages.contains(request.page)) ++request.page;
  request.list_id = listing.id;
  request.report = request.page == 0 && asks_for_report(node);
  request.protocol = kProtocol;
  if (context_.options.proof_key) request.proof = make_proof(*context_.options.proof_key, context_.identity->id, node);
  if (is_clock_set(context_.clock.wall())) request.time = context_.clock.wall();
  if (const DeviceNode* device = context_.nodes.find(node)) {
    request.seen_incarnation = device->incarnation;
    request.seen = runs_.to_tell(node, device->incarnation).value_or(Epoch{});
  }
  sender_.send(node, std::move(request), {}, floor_for(node));
  sender_.arm_resend(listing.resend, listing.resends, [this, node] {
    open_.at(node).resend = 0;
    ask_page(node);
  });
}

// Facts or a final status that were lost on the way are asked for; a live broker delivers them unasked.
bool Listings::asks_for_report(const std::string& node) const {
  const DeviceNode* device = context_.nodes.find(node);
  return device == nullptr || device->facts.is_null() || !device->facts_current || status_lost_.contains(node);
}

// P8, P9: what is known of such a node ends with a listing that was asked for with a floor above all of it.
Floor Listings::floor_for(const std::string& node) const {
  const bool is_waited_for = context_.identity->adopting || is_retired(*context_.identity, context_.nodes, node);
  return is_waited_for ? Floor::raise : open_.at(node).floor;
}

bool Listings::is_page_of_open(const Answer& answer) const {
  const auto found = open_.find(answer.node);
  return answer.type == AnswerType::slots && found != open_.end() && found->second.id == answer.list_id;
}

std::optional<Listed> Listings::add_page(const Answer& answer) {
  // Only a listing asked for now, under the present term, proves anything (P8).
  if (!is_page_of_open(answer) || answer.gateway_id != context_.nodes.id_towards(answer.node, context_.identity->id))
    return std::nullopt;
  runs_.note_judged(answer.node, answer.incarnation);
  sender_.names().note(answer);
  const auto found = open_.find(answer.node);
  Listing& listing = found->second;
  if (answer.pages == 0 || answer.pages > kMaxPages || answer.page >= answer.pages) {
    log_refused(context_.log, "slots of node " + answer.node,
                "page " + std::to_string(answer.page) + " of " + std::to_string(answer.pages) + " cannot be");
    return std::nullopt;
  }
  if (answer.page == 0) listing.pages.clear();  // the device began again
  listing.pages[answer.page] = {answer.slots, answer.kept_volumes, {}};
  listing.resends = 0;
  std::size_t listed = 0;
  for (const auto& [page, part] : listing.pages) listed += part.slots.size();
  if (listing.pages.size() < answer.pages && listed <= context_.options.node_limits.slots) {
    ask_page(answer.node);
    return std::nullopt;
  }
  Listed all;
  for (const auto& [page, part] : listing.pages) {
    for (const SlotReport& slot : part.slots)
      (listing.ended.contains(slot.epoch) ? all.ended : all.slots).push_back(slot);
    all.kept_volumes.insert(all.kept_volumes.end(), part.kept_volumes.begin(), part.kept_volumes.end());
  }
  std::erase_if(all.kept_volumes, [&](const KeptVolume& each) { return listing.deleted.contains(each.volume); });
  context_.timers.cancel(listing.resend);
  open_.erase(found);
  return all;
}

void Listings::note_ended(const std::string& node, const Epoch& epoch) {
  if (const auto found = open_.find(node); found != open_.end()) found->second.ended.insert(epoch);
}

void Listings::note_deleted(const std::string& node, const std::string& volume) {
  if (const auto found = open_.find(node); found != open_.end()) found->second.deleted.insert(volume);
}

bool Listings::set_status_lost(const std::string& node, bool lost) {
  return lost ? status_lost_.insert(node).second : status_lost_.erase(node) > 0;
}

void Listings::forget(const std::string& node) {
  if (const auto found = open_.find(node); found != open_.end()) {
    context_.timers.cancel(found->second.resend);
    open_.erase(found);
  }
  status_lost_.erase(node);
  runs_.forget(node);
  sender_.names().forget(node);
}

void Listings::clear() {
  for (auto& [node, listing] : open_) context_.timers.cancel(listing.resend);
  open_.clear();
  sender_.names().clear();
}

}  // namespace berth
