// Any bytes as messages between gateway and device, or in a stream. What was decoded must survive encoding and
// decoding, also in lists.
#include "core/check.h"
#include "core/handshake/messages.h"
#include "core/streams/frame.h"

using namespace berth;

namespace {

// The messages that could be decoded.
template <class T>
std::vector<T> take(std::vector<Result<T>> messages) {
  CHECK(!messages.empty() && messages.size() <= kMaxItems);
  std::vector<T> decoded;
  for (Result<T>& message : messages) {
    if (message) decoded.push_back(std::move(*message));
  }
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::vector<Request> requests = take(decode_requests(text));
  std::vector<Request> requests_again;
  for (const std::string& payload : encode_all(requests)) {
    for (Request& request : take(decode_requests(payload))) requests_again.push_back(std::move(request));
  }
  CHECK(encode_all(requests_again) == encode_all(requests));
  const std::vector<Answer> answers = take(decode_answers(text, "n1"));
  std::vector<Answer> answers_again;
  for (const std::string& payload : encode_all(answers)) {
    for (Answer& answer : take(decode_answers(payload, "n1"))) answers_again.push_back(std::move(answer));
  }
  CHECK(answers_again.size() == answers.size());
  for (const Answer& answer : answers_again) CHECK(answer.node == "n1");
  CHECK(encode_all(answers_again) == encode_all(answers));
  if (const Result<StreamFrame> frame = decode_stream_frame(text)) {
    const Result<StreamFrame> again = decode_stream_frame(encode(*frame));
    CHECK(again && *again == *frame);
  }
  return 0;
}
