#include "tests/crash/session.h"

#include <utility>

namespace berth::crash {

bool Session::open() {
  auto opened = SqliteStore::open(kStorePath, log_, options_);
  if (!opened) {
    failure_ = opened.error().message;
    blamed_file_ = opened.error().kind == OpenError::Kind::corrupt || opened.error().kind == OpenError::Kind::newer;
    return false;
  }
  auto records = (*opened)->load();
  if (!records) {
    failure_ = records.error().message();
    return false;
  }
  loaded_ = std::move(*records);
  store_ = std::move(*opened);
  return true;
}

void Session::put(Table table, const std::string& key, const std::string& value) {
  store_->put(table, key, value);
  model_.put(table, key, value);
}

void Session::erase(Table table, const std::string& key) {
  store_->erase(table, key);
  model_.erase(table, key);
}

bool Session::begin(const std::string& key, const std::string& value) {
  if (!store_->begin(key, value, 1).is_success()) return false;
  return model_.begin(key, value, 1).is_success();
}

void Session::advance(const std::string& key, int phase) {
  store_->advance(key, phase);
  model_.advance(key, phase);
}

bool Session::commit() {
  if (const Status committed = store_->commit(); !committed.is_success()) {
    failure_ = committed.message();
    possible_ = model_;
    static_cast<void>(possible_->commit());
    model_.crash();
    return false;
  }
  return model_.commit().is_success();
}

}  // namespace berth::crash
