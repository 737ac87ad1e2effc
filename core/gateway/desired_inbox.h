// DesiredInbox: desired/ as the broker brings it: orders of operators, what the broker retains of them, and the
// gateway's own mirror coming back. The gateway owns the objects; absence never deletes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/gateway/orders.h"

namespace berth {

class DesiredInbox {
 public:
  // Both outlive it.
  DesiredInbox(const PlacementContext& context, Orders& orders) : context_(context), orders_(orders) {}

  void take(const std::vector<std::string_view>& levels, const Message& message);
  // Retained orders that were refused for want of capacity: true once since the last call.
  bool has_refused() const { return refused_; }
  void clear_refused() { refused_ = false; }
  void start_session() {
    refused_ = false;
    told_past_ = 0;
  }

 private:
  void refuse_secret(const std::string& key, const Message& message);
  void take_retained(Kind kind, const std::string& key, const Json& json, const Message& message);
  void tell_past(Kind kind, const std::string& key);
  void carry_out(Kind kind, const std::string& key, const Json& json, const std::string& text, const Message& message);
  void carry_out_delete(Kind kind, const std::string& key, const Json& json, bool retained);

  const PlacementContext& context_;
  Orders& orders_;
  bool refused_ = false;
  std::size_t told_past_ = 0;  // in this session
};

}  // namespace berth
