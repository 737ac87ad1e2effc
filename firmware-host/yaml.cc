#include "firmware-host/yaml.h"

#include <yaml.h>

#include <set>

#include "core/check.h"
#include "core/json/field_reader.h"
#include "core/json/utf8.h"
#include "firmware-host/yaml_scalar.h"

namespace berth {
namespace {

constexpr std::string_view kCoreTags = "tag:yaml.org,2002:";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string location(std::string_view file, YamlMark mark) {
  return std::string(file) + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

YamlMark to_mark(const yaml_mark_t& mark) {
  return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
}

// Owns one libyaml event.
class Event {
 public:
  Event() = default;
  ~Event() { yaml_event_delete(&event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  yaml_event_t* get() { return &event_; }
  const yaml_event_t* operator->() const { return &event_; }
  YamlMark mark() const { return to_mark(event_.start_mark); }

 private:
  yaml_event_t event_{};
};

// Reads documents event by event, so that the limits are checked before anything is built. Each function sets error_
// before it returns false.
class Loader {
 public:
  Loader(std::string_view file, std::string_view text, const YamlLimits& limits) : file_(file), limits_(limits) {
    CHECK(yaml_parser_initialize(&parser_) == 1);
    // libyaml looks for the mark only where it has to find out the encoding.
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Loader() { yaml_parser_delete(&parser_); }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  Result<std::vector<YamlDocument>> run() {
    std::vector<YamlDocument> documents;
    for (;;) {
      Event event;
      if (!next(event)) return Status::error(error_);
      if (event->type == YAML_STREAM_END_EVENT) return documents;
      if (event->type != YAML_DOCUMENT_START_EVENT) continue;
      YamlDocument document;
      document.file = file_;
      document_ = &document;
      Event root;
      if (!next(root)) return Status::error(error_);
      document.start = root.mark();
      if (!node(root, "", 0, document.value)) return Status::error(error_);
      if (!document.value.is_null()) documents.push_back(std::move(document));
    }
  }

 private:
  bool fail(YamlMark mark, std::string_view what) {
    error_ = location(file_, mark) + ": " + std::string(what);
    return false;
  }

  bool next(Event& event) {
    if (yaml_parser_parse(&parser_, event.get()) == 1) return true;
    const std::string problem = parser_.problem == nullptr ? "syntax error" : parser_.problem;
    YamlMark mark = to_mark(parser_.problem_mark);
    std::string context;
    if (parser_.error == YAML_READER_ERROR) {
      mark = to_mark(parser_.mark);  // the last readable position
    } else if (parser_.context != nullptr) {
      context =
          ", " + std::string(parser_.context) + " that starts at line " + std::to_string(parser_.context_mark.line + 1);
    }
    return fail(mark, "invalid YAML: " + problem + context);
  }

  bool node(const Event& event, const std::string& path, int depth, Json& out) {
    if (++values_ > limits_.values) {
      return fail(event.mark(), "more than " + std::to_string(limits_.values) + " values in one file");
    }
    switch (event->type) {
      case YAML_SCALAR_EVENT: return scalar(event, out);
      case YAML_SEQUENCE_START_EVENT: {
        const auto& start = event->data.sequence_start;
        return enter(event, start.tag, "seq", depth) && sequence(path, depth + 1, out);
      }
      case YAML_MAPPING_START_EVENT: {
        const auto& start = event->data.mapping_start;
        return enter(event, start.tag, "map", depth) && mapping(path, depth + 1, out);
      }
      case YAML_ALIAS_EVENT: return fail(event.mark(), "aliases (*name) are not supported; write the value out");
      default: return fail(event.mark(), "invalid YAML: a value is missing");
    }
  }

  bool enter(const Event& event, const yaml_char_t* tag, std::string_view core, int depth) {
    if (depth >= limits_.depth) {
      return fail(event.mark(), "nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    const std::string_view text = tag == nullptr ? "!" : reinterpret_cast<const char*>(tag);
    if (text == "!" || text == std::string(kCoreTags) + std::string(core)) return true;
    return fail(event.mark(), "tag " + std::string(text) + " is not supported; remove it");
  }

  bool sequence(const std::string& path, int depth, Json& out) {
    Json::Array items;
    for (;;) {
      Event event;
      if (!next(event)) return false;
      if (event->type == YAML_SEQUENCE_END_EVENT) break;
      const std::string item = item_path(path, items.size());
      document_->marks.emplace(item, event.mark());
      if (!node(event, item, depth, items.emplace_back())) return false;
    }
    out = Json(std::move(items));
    return true;
  }

  bool mapping(const std::string& path, int depth, Json& out) {
    Json::Object members;
    std::set<std::string, std::less<>> keys;
    for (;;) {
      Event event;
      if (!next(event)) return false;
      if (event->type == YAML_MAPPING_END_EVENT) break;
      std::string name;
      if (!key(event, name)) return false;
      if (!keys.insert(name).second) return fail(event.mark(), "duplicate key " + show_found(Json(name)));
      const std::string member = member_path(path, name);
      document_->marks.emplace(member, event.mark());
      Event value;
      if (!next(value)) return false;
      if (!node(value, member, depth, members.emplace_back(std::move(name), Json()).second)) return false;
    }
    out = Json(std::move(members));
    return true;
  }

  bool key(const Event& event, std::string& out) {
    if (event->type == YAML_ALIAS_EVENT) {
      return fail(event.mark(), "aliases (*name) are not supported; write the value out");
    }
    if (event->type != YAML_SCALAR_EVENT) return fail(event.mark(), "a key must be a scalar");
    const auto& scalar = event->data.scalar;
    out.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (plain && out == "<<") return fail(event.mark(), "merge keys (<<) are not supported; write the fields out");
    if (plain && (out.empty() || out == "~")) return fail(event.mark(), "a key is missing before the colon");
    if (out.find('\0') != std::string::npos) return fail(event.mark(), "the character NUL is not allowed");
    return true;
  }

  bool scalar(const Event& event, Json& out) {
    const auto& scalar = event->data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (text.find('\0') != std::string_view::npos) return fail(event.mark(), "the character NUL is not allowed");
    const std::string_view tag = scalar.tag == nullptr ? "" : reinterpret_cast<const char*>(scalar.tag);
    const std::string_view core = tag.starts_with(kCoreTags) ? tag.substr(kCoreTags.size()) : "";
    if (!tag.empty() && tag != "!" && core != "str" && core != "int" && core != "float" && core != "bool" &&
        core != "null") {
      return fail(event.mark(), "tag " + std::string(tag) + " is not supported; remove it");
    }
    const bool is_string = core == "str" || tag == "!" || (tag.empty() && scalar.style != YAML_PLAIN_SCALAR_STYLE);
    if (is_string) {
      out = Json(text);
      return true;
    }
    Result<Json> value = read_plain_scalar(text);
    if (!value) return fail(event.mark(), value.error().message());
    if (!fits_tag(*value, core)) return fail(event.mark(), "the value does not match its tag " + std::string(tag));
    out = std::move(*value);
    return true;
  }

  static bool fits_tag(const Json& value, std::string_view core) {
    if (core == "int") return value.is_integer();
    if (core == "float") return value.is_number();
    if (core == "bool") return value.is_bool();
    if (core == "null") return value.is_null();
    return true;
  }

  yaml_parser_t parser_{};
  std::string file_;
  const YamlLimits& limits_;
  YamlDocument* document_ = nullptr;
  std::size_t values_ = 0;
  std::string error_;
};

// Writes with libyaml's emitter, whose calls fail only if memory runs out or events come in a wrong order, which would
// be a bug here.
class Writer {
 public:
  Writer() {
    CHECK(yaml_emitter_initialize(&emitter_) == 1);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, -1);  // no folding
    yaml_emitter_set_output(&emitter_, append, &text_);
  }
  ~Writer() { yaml_emitter_delete(&emitter_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string run(const Json& value) {
    yaml_event_t event;
    CHECK(yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 1);
    emit(event);
    CHECK(yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1) == 1);
    emit(event);
    node(value);
    CHECK(yaml_document_end_event_initialize(&event, 1) == 1);
    emit(event);
    CHECK(yaml_stream_end_event_initialize(&event) == 1);
    emit(event);
    return std::move(text_);
  }

 private:
  static int append(void* text, unsigned char* bytes, std::size_t size) {
    static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), size);
    return 1;
  }

  void emit(yaml_event_t& event) { CHECK(yaml_emitter_emit(&emitter_, &event) == 1); }

  void scalar(std::string_view foreign, yaml_scalar_style_t style) {
    yaml_event_t event;
    const std::string text = to_readable(foreign);  // libyaml rejects invalid UTF-8
    const auto* bytes = reinterpret_cast<const yaml_char_t*>(text.data());
    CHECK(yaml_scalar_event_initialize(&event, nullptr, nullptr, bytes, static_cast<int>(text.size()), 1, 1, style) ==
          1);
    emit(event);
  }

  void string(std::string_view text) {
    if (!is_string_when_plain(text)) return scalar(text, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    if (text.find('\n') == std::string_view::npos) return scalar(text, YAML_ANY_SCALAR_STYLE);
    // A block keeps lines readable, but a leading blank would be taken for indentation.
    const bool block = text[0] != ' ' && text[0] != '\n' && text.find_first_of("\t\r") == std::string_view::npos;
    scalar(text, block ? YAML_LITERAL_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  void node(const Json& value) {
    yaml_event_t event;
    if (value.is_string()) return string(value.as_string());
    if (value.is_array()) {
      const auto style = value.as_array().empty() ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
      CHECK(yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, style) == 1);
      emit(event);
      for (const Json& item : value.as_array()) node(item);
      CHECK(yaml_sequence_end_event_initialize(&event) == 1);
      return emit(event);
    }
    if (value.is_object()) {
      const auto style = value.as_object().empty() ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
      CHECK(yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, style) == 1);
      emit(event);
      for (const auto& [key, member] : value.as_object()) {
        // A multi-line key could not be read back as a simple key.
        const bool quoted = !is_string_when_plain(key) || key.find('\n') != std::string::npos;
        scalar(key, quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE);
        node(member);
      }
      CHECK(yaml_mapping_end_event_initialize(&event) == 1);
      return emit(event);
    }
    scalar(value.dump(), YAML_PLAIN_SCALAR_STYLE);
  }

  yaml_emitter_t emitter_{};
  std::string text_;
};

}  // namespace

std::string YamlDocument::where(std::string_view path) const {
  while (!path.empty()) {
    const auto mark = marks.find(std::string(path));
    if (mark != marks.end()) return location(file, mark->second);
    const std::size_t cut = path.find_last_of(".[");
    path = cut == std::string_view::npos ? std::string_view() : path.substr(0, cut);
  }
  return location(file, start);
}

std::string YamlDocument::locate(std::string_view reason) const {
  const std::size_t colon = reason.find(": ");
  const std::string_view path = colon == std::string_view::npos ? std::string_view() : reason.substr(0, colon);
  return where(path) + ": " + std::string(reason);
}

Result<std::vector<YamlDocument>> parse_yaml(std::string_view file, std::string_view text, YamlLimits limits) {
  if (text.size() > limits.bytes) {
    return Status::error(std::string(file) + ": " + std::to_string(text.size()) + " bytes of YAML, the limit is " +
                         std::to_string(limits.bytes));
  }
  return Loader(file, text, limits).run();
}

Result<YamlDocument> parse_yaml_config(std::string_view file, std::string_view text, YamlLimits limits) {
  Result<std::vector<YamlDocument>> documents = parse_yaml(file, text, limits);
  if (!documents) return documents.error();
  if (documents->size() > 1) {
    return Status::error(location(file, (*documents)[1].start) +
                         ": a second document; a configuration file must have only one");
  }
  if (!documents->empty()) return std::move(documents->front());
  YamlDocument empty;
  empty.value = Json::object();
  empty.file = std::string(file);
  return empty;
}

std::string dump_yaml(const Json& value) { return Writer().run(value); }

}  // namespace berth
