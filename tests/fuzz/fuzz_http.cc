// Any bytes as an HTTP request to the status page, in pieces; the first byte is their size.
#include <algorithm>

#include "core/check.h"
#include "firmware-host/http_request.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = bytes[0] + 1u;
  HttpRequestReader reader;
  auto progress = HttpRequestReader::Progress::more;
  for (std::size_t at = 1; at < size; at += piece) {
    progress = reader.feed({reinterpret_cast<const char*>(bytes) + at, std::min(piece, size - at)});
  }
  if (progress == HttpRequestReader::Progress::done) CHECK(!reader.request().method.empty());
  if (progress == HttpRequestReader::Progress::refused) CHECK(reader.status() >= 400);
  return 0;
}
