// The JSON that a test writes as text.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "core/json/json.h"

namespace berth {

// Fails the test when the text is no JSON.
inline Json parsed_json(std::string_view text) {
  Result<Json> json = Json::parse(text);
  EXPECT_TRUE(json) << text << json.error().message();
  return json ? std::move(*json) : Json();
}

}  // namespace berth
