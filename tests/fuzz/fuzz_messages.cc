// Any bytes as a message between gateway and device; what is understood must survive being said again.
#include "core/check.h"
#include "core/handshake/messages.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const Result<Request> request = decode_request(text)) {
    const std::string said = encode(*request);
    const Result<Request> again = decode_request(said);
    CHECK(again.has_value());
    CHECK(encode(*again) == said);
  }
  if (const Result<Answer> answer = decode_answer(text, "n1")) {
    CHECK(answer->node == "n1");
    const std::string said = encode(*answer);
    const Result<Answer> again = decode_answer(said, "n1");
    CHECK(again.has_value());
    CHECK(encode(*again) == said);
  }
  return 0;
}
