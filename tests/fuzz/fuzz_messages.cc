// Any bytes as messages between gateway and device; what is understood must survive being said again, in lists too.
#include "core/check.h"
#include "core/handshake/messages.h"

using namespace berth;

namespace {

// Those that were understood.
template <class T>
std::vector<T> take(std::vector<Result<T>> messages) {
  CHECK(!messages.empty() && messages.size() <= kMaxItems);
  std::vector<T> understood;
  for (Result<T>& message : messages) {
    if (message) understood.push_back(std::move(*message));
  }
  return understood;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::vector<Request> requests = take(decode_requests(text));
  std::vector<Request> heard;
  for (const std::string& said : encode_all(requests)) {
    for (Request& request : take(decode_requests(said))) heard.push_back(std::move(request));
  }
  CHECK(encode_all(heard) == encode_all(requests));
  const std::vector<Answer> answers = take(decode_answers(text, "n1"));
  std::vector<Answer> answered;
  for (const std::string& said : encode_all(answers)) {
    for (Answer& answer : take(decode_answers(said, "n1"))) answered.push_back(std::move(answer));
  }
  CHECK(answered.size() == answers.size());
  for (const Answer& answer : answered) CHECK(answer.node == "n1");
  CHECK(encode_all(answered) == encode_all(answers));
  return 0;
}
