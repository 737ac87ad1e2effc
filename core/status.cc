#include "core/status.h"

namespace berth {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::success: return "Success";
    case Code::error: return "Error";
    case Code::unschedulable: return "Unschedulable";
    case Code::unresolvable: return "UnschedulableAndUnresolvable";
    case Code::wait: return "Wait";
    case Code::skip: return "Skip";
    case Code::pending: return "Pending";
  }
  return "Error";
}

std::string Status::message() const {
  std::string text;
  for (const std::string& reason : reasons()) {
    if (!text.empty()) text += ", ";
    text += reason;
  }
  return text;
}

}  // namespace berth
