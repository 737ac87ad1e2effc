#include "core/text.h"

#include <unordered_map>

namespace berth {

namespace {

// Lives as long as the program, since what holds a text may outlive everything else.
template <class Part>
std::unordered_map<std::string_view, Part*>& common_texts() {
  static auto& texts = *new std::unordered_map<std::string_view, Part*>();
  return texts;
}

}  // namespace

const std::string& Text::none() {
  static const std::string empty;
  return empty;
}

Text Text::common(std::string_view text) {
  Text result;
  if (text.empty()) return result;
  auto& texts = common_texts<Part>();
  if (const auto found = texts.find(text); found != texts.end()) {
    result.part_ = found->second;
    ++result.part_->users;
    return result;
  }
  result.part_ = new Part{std::string(text), 1, true};
  texts.emplace(result.part_->text, result.part_);
  return result;
}

std::string& Text::edit() {
  if (part_ == nullptr || part_->users > 1 || part_->common) {
    Text own;
    own.part_ = new Part{get()};
    std::swap(part_, own.part_);
  }
  return part_->text;
}

void Text::drop() {
  if (part_->common) common_texts<Part>().erase(part_->text);
  delete part_;
}

}  // namespace berth
