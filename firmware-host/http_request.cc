#include "firmware-host/http_request.h"

#include <http_parser.h>

namespace berth {

struct HttpRequestReader::State {
  http_parser parser{};
  http_parser_settings settings{};
  std::string url;
  bool head_read = false;
  std::size_t bytes = 0;
  std::size_t bytes_max = 0;
  Progress progress = Progress::more;
  int status = 0;
  HttpRequest request;

  Progress refuse(int with) {
    status = with;
    progress = Progress::refused;
    return progress;
  }

  Progress conclude() {
    if (parser.http_major != 1) return refuse(505);
    request.method = http_method_str(static_cast<http_method>(parser.method));
    if (request.method != "GET" && request.method != "HEAD") return refuse(405);
    http_parser_url parts;
    http_parser_url_init(&parts);
    if (http_parser_parse_url(url.data(), url.size(), 0, &parts) != 0) return refuse(400);
    auto part = [&](http_parser_url_fields field) {
      if ((parts.field_set & (1u << field)) == 0) return std::string();
      return url.substr(parts.field_data[field].off, parts.field_data[field].len);
    };
    request.path = part(UF_PATH);
    request.query = part(UF_QUERY);
    if (request.path.empty()) request.path = "/";
    progress = Progress::done;
    return progress;
  }
};

HttpRequestReader::HttpRequestReader(std::size_t bytes_max) : state_(std::make_unique<State>()) {
  state_->bytes_max = bytes_max;
  http_parser_init(&state_->parser, HTTP_REQUEST);
  state_->parser.data = state_.get();
  http_parser_settings_init(&state_->settings);
  state_->settings.on_url = [](http_parser* parser, const char* at, std::size_t length) {
    static_cast<State*>(parser->data)->url.append(at, length);
    return 0;
  };
  state_->settings.on_headers_complete = [](http_parser* parser) {
    static_cast<State*>(parser->data)->head_read = true;
    http_parser_pause(parser, 1);  // a body or a further request is not read
    return 0;
  };
}

HttpRequestReader::~HttpRequestReader() = default;

HttpRequestReader::Progress HttpRequestReader::feed(std::string_view bytes) {
  State& state = *state_;
  if (state.progress != Progress::more || bytes.empty()) return state.progress;
  const std::size_t left = state.bytes_max - state.bytes;
  const std::string_view taken = bytes.substr(0, left);
  state.bytes += taken.size();
  http_parser_execute(&state.parser, &state.settings, taken.data(), taken.size());
  if (state.head_read) return state.conclude();
  if (HTTP_PARSER_ERRNO(&state.parser) != HPE_OK) return state.refuse(400);
  if (state.bytes == state.bytes_max) return state.refuse(431);
  return Progress::more;
}

const HttpRequest& HttpRequestReader::request() const { return state_->request; }
int HttpRequestReader::status() const { return state_->status; }

}  // namespace berth
