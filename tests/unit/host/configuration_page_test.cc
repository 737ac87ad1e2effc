// firmware-host/configuration.md has each key that the programs read, what they expect, and their defaults.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>

#include "firmware-host/agent/settings.h"
#include "firmware-host/config.h"

namespace berth {
namespace {

struct Row {
  std::string expects;
  std::string default_value;
};
using Rows = std::map<std::string, Row>;  // by key, lists as "clients[]"

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 2; at < line.size();) {
    const std::size_t end = std::min(line.find(" |", at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = end + 3;
  }
  return cells;
}

std::string without_code(std::string text) {
  std::erase(text, '`');
  return text;
}

// The tables of configuration.md, by the program that heads them.
std::map<std::string, Rows> page() {
  std::map<std::string, Rows> tables;
  std::ifstream file(BERTH_CONFIGURATION_PAGE);
  std::string program;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) program = line.substr(3);
    if (!line.starts_with("| `")) continue;
    const auto cells = cells_of(line);
    tables[program][without_code(cells.at(0))] = {cells.at(1), cells.at(2)};
  }
  return tables;
}

// A document in which the key has this value: {"a": {"b": [{"c": VALUE}]}} for "a.b[].c".
std::string document(const std::string& key, const std::string& value) {
  const std::size_t dot = key.find('.');
  std::string name = key.substr(0, dot);
  const bool in_list = name.ends_with("[]");
  if (in_list) name.resize(name.size() - 2);
  std::string inner = dot == std::string::npos ? value : document(key.substr(dot + 1), value);
  if (in_list) inner = "[" + inner + "]";
  return "{\"" + name + "\": " + inner + "}";
}

std::string as_found(std::string key) {
  for (std::size_t at = key.find("[]"); at != std::string::npos; at = key.find("[]", at)) key.replace(at, 2, "[0]");
  return key;
}

std::string as_listed(std::string key) {
  for (std::size_t at = key.find("[0]"); at != std::string::npos; at = key.find("[0]", at)) key.replace(at, 3, "[]");
  return key;
}

Status parse(Program program, const std::string& text) {
  const auto status_of = [](const auto& result) { return result ? Status::ok() : result.error(); };
  switch (program) {
    case Program::gateway: return status_of(parse_gateway_config("f", text));
    case Program::agent: return status_of(parse_agent_config("f", text, default_settings()));
    case Program::ctl: return status_of(parse_ctl_config("f", text));
  }
  return Status::error("");
}

// What the program says that it expects there, when it gets this value; none: it takes it.
std::optional<std::string> complaint(Program program, const std::string& key, const std::string& value) {
  const std::string start = " " + as_found(key) + ": ";
  const Status status = parse(program, document(key, value));
  for (const std::string& reason : status.reasons()) {
    const std::size_t at = reason.find(start);
    if (at == std::string::npos) continue;
    std::string text = reason.substr(at + start.size());
    if (text.starts_with("expected ")) text = text.substr(9);
    return text.substr(0, text.find(", got"));
  }
  return std::nullopt;
}

std::string expectation(Program program, const std::string& key) {
  for (const char* value : {R"("?")", R"("")", "{}", "[]"}) {
    if (auto text = complaint(program, key, value)) return *text;
  }
  return "anything";
}

// All keys with a value of their own; those of objects and lists of objects are followed.
void find_keys(Program program, const std::string& outer, std::map<std::string, std::string>& found) {
  for (const std::string& inside : {std::string("{}"), std::string("[{}]")}) {
    const bool is_list = inside == "[{}]";
    if (outer.empty() && is_list) continue;
    const std::string prefix = outer.empty() ? "" : outer + (is_list ? "[]." : ".");
    const std::string text = outer.empty() ? "{}" : document(outer, inside);
    for (const std::string& each : config_keys(program, text)) {
      const std::string key = as_listed(each);
      if (!key.starts_with(prefix) || key.size() == prefix.size()) continue;
      if (key.find('.', prefix.size()) != std::string::npos || found.contains(key)) continue;
      found[key] = expectation(program, key);
      const std::size_t before = found.size();
      find_keys(program, key, found);
      if (found.size() > before) found.erase(key);
    }
  }
}

void expect_same(Program program, const std::string& name) {
  auto tables = page();
  const Rows& rows = tables[name];
  std::map<std::string, std::string> keys;
  find_keys(program, "", keys);
  for (const auto& [key, expects] : keys) {
    const auto row = rows.find(key);
    if (row == rows.end()) {
      ADD_FAILURE() << "add to configuration.md, " << name << ": | `" << key << "` | " << expects << " | ";
    } else {
      EXPECT_EQ(row->second.expects, expects) << key;
    }
  }
  for (const auto& [key, row] : rows) {
    EXPECT_TRUE(keys.contains(key)) << "configuration.md, " << name << ": there is no key " << key;
  }
}

// Sets each default that is written as a value; nothing may change by it.
template <class Parse>
void expect_defaults(const std::string& name, Parse parse_one) {
  auto tables = page();
  for (const auto& [key, row] : tables[name]) {
    const std::string& cell = row.default_value;
    if (!cell.starts_with('`') || key.find("[]") != std::string::npos) continue;
    EXPECT_TRUE(parse_one(document(key, without_code(cell)))) << name << ": " << key << " is not " << cell;
  }
}

TEST(ConfigurationPage, HasEachKeyAndWhatItExpects) {
  expect_same(Program::gateway, "berthd");
  expect_same(Program::agent, "berth-agent");
  expect_same(Program::ctl, "berthctl");
}

TEST(ConfigurationPage, HasTheDefaultsOfThePrograms) {
  expect_defaults("berthd", [](const std::string& text) {
    // Naming a broker at all replaces the embedded one.
    const auto settings = parse_gateway_config("f", text);
    GatewaySettings wanted;
    if (settings && settings->broker) wanted.broker = BrokerSettings();
    return settings && *settings == wanted;
  });
  expect_defaults("berth-agent", [](const std::string& text) {
    const auto settings = parse_agent_config("f", text, default_settings());
    const auto compared = [](const AgentSettings& of) {
      return std::tie(of.broker, of.log_level, of.log_format, of.agent.fleet, of.agent.gateway, of.agent.heartbeat_ms,
                      of.agent.capacity);
    };
    const AgentSettings wanted = default_settings();
    return settings && compared(*settings) == compared(wanted);
  });
  expect_defaults("berthctl", [](const std::string& text) {
    const auto settings = parse_ctl_config("f", text);
    return settings && *settings == CtlSettings();
  });
}

}  // namespace
}  // namespace berth
