#include "core/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

namespace berth {

namespace {

// The same few texts are asked for again and again while objects come: what was asked for last, by its end.
template <class Part>
Part*& last_asked(std::string_view text) {
  static std::array<Part*, 256> parts{};
  std::uint64_t end = text.size();
  std::memcpy(&end, text.data() + text.size() - std::min(text.size(), sizeof end), std::min(text.size(), sizeof end));
  return parts[(end ^ text.size()) * 0x9E3779B97F4A7C15u >> 56];
}

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
  Part*& last = last_asked<Part>(text);
  if (last != nullptr && last->text == text) {
    result.part_ = last;
    ++last->users;
    return result;
  }
  auto& texts = common_texts<Part>();
  if (const auto found = texts.find(text); found != texts.end()) {
    result.part_ = last = found->second;
    ++result.part_->users;
    return result;
  }
  result.part_ = last = new Part{std::string(text), 1, true};
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
  if (part_->common) {
    if (Part*& last = last_asked<Part>(part_->text); last == part_) last = nullptr;
    common_texts<Part>().erase(part_->text);
  }
  delete part_;
}

}  // namespace berth
