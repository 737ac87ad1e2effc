#include "core/mirror/sync_barrier.h"

#include "core/json/json.h"

namespace berth {

void SyncBarrier::set_link(bool up) {
  link_up_ = up;
  synced_ = false;
  if (up) ++session_;
}

void SyncBarrier::send() {
  Message message;
  message.topic = topics_.gateway_fence(gateway_);
  message.payload = Json(Json::Object{{"fence", Json(std::to_string(number_))}}).dump();
  turn_.send(std::move(message));
}

void SyncBarrier::leave_mark(const std::string& store_id, std::uint64_t orders) {
  Message message;
  message.topic = topics_.gateway_fence(gateway_);
  message.retain = true;
  message.payload = Json(Json::Object{{"orders", Json(std::to_string(orders))}, {"storeId", Json(store_id)}}).dump();
  turn_.send(std::move(message));
}

bool SyncBarrier::is_back(const std::string& payload) const {
  const Result<Json> json = Json::parse(payload);
  const Json* number = json ? json->find("fence") : nullptr;
  return number != nullptr && *number == Json(std::to_string(number_));
}

}  // namespace berth
