// The journal entry of a commit: it reads back as written, and damage is detected.
#include "storage/entry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/random.h"
#include "storage/later_records.h"
#include "storage/live.h"
#include "storage/squeeze.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

std::string repetitive(Random& random, std::size_t size) {
  std::string made;
  while (made.size() < size) {
    if (made.empty() || random.chance(1, 3)) {
      made.push_back(static_cast<char>(random.below(256)));
    } else {
      const std::size_t from = random.below(made.size());
      for (std::uint64_t i = random.below(60); i > 0; --i) made.push_back(made[from + (i % (made.size() - from))]);
    }
  }
  return made;
}

TEST(Squeeze, ReturnsTheBytesItWasGiven) {
  Random random(1);
  for (int i = 0; i < 2'000; ++i) {
    const std::string bytes = repetitive(random, random.below(600));
    EXPECT_EQ(unsqueeze(squeeze(bytes)), bytes);
  }
  for (const std::string& bytes : {std::string(), std::string(100'000, 'x'), std::string("abcabcabcabcabcab")}) {
    EXPECT_EQ(unsqueeze(squeeze(bytes)), bytes);
  }
  EXPECT_LT(squeeze(std::string(100'000, 'x')).size(), 20u);
}

// Short and long groups in turn, near the ends and far from them: where more may be copied than is meant.
TEST(Squeeze, RestoresRepetitionsOfEachDistanceAndLengthAtEachPlace) {
  Random random(3);
  const auto unlike = [&random](std::size_t size) {
    std::string bytes;
    while (bytes.size() < size) bytes.push_back(static_cast<char>(random.below(256)));
    return bytes;
  };
  for (std::size_t distance = 1; distance <= 300; distance += distance < 40 ? 1 : 37) {
    for (std::size_t length = 4; length <= 40; ++length) {
      for (const std::size_t before : {0u, 1u, 13u, 14u, 15u, 16u, 40u}) {
        std::string bytes = unlike(before + distance);
        for (std::size_t i = 0; i < length; ++i) bytes.push_back(bytes[bytes.size() - distance]);
        bytes += unlike(random.below(60));
        ASSERT_EQ(unsqueeze(squeeze(bytes)), bytes) << distance << " " << length << " " << before;
      }
    }
  }
}

TEST(Squeeze, RejectsForeignBytes) {
  Random random(2);
  for (int i = 0; i < rounds(20'000); ++i) {
    std::string squeezed = squeeze(repetitive(random, 200));
    for (int damage = 0; damage < 3; ++damage)
      squeezed[random.below(squeezed.size())] ^= static_cast<char>(1 << random.below(8));
    const auto bytes = unsqueeze(squeezed.substr(0, random.below(squeezed.size() + 1)));
    if (bytes) {
      EXPECT_LE(bytes->size(), 64u << 20);
    }
  }
  EXPECT_FALSE(unsqueeze(""));
  EXPECT_FALSE(unsqueeze("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")) << "larger than the maximum";
}

TEST(Entry, KeepsChangesAsTheyWere) {
  ByteWriter changes;
  const std::string uid = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
  const std::string shouted = "7C9E6679-7425-40de-944b-e07fc1f90ae7";
  const std::vector<Change> all{{Op::begin, Table::row, uid, "row", 1},
                                {Op::advance, Table::row, uid, "", 2},
                                {Op::advance, Table::row, shouted, "", 3},
                                {Op::put, Table::queue, "", std::string("\0\xff", 2), 0},
                                {Op::erase, Table::meta, "a key", "", 0}};
  std::size_t bytes = 0;
  for (const Change& change : all) {
    bytes += write_change(changes, change.op, change.table, change.key, change.value, change.phase);
  }
  EXPECT_EQ(bytes, changes.bytes().size());
  const auto opened = open_entry(seal_entry(changes.bytes()));
  ASSERT_TRUE(opened.has_value());
  std::size_t at = 0;
  std::size_t seen = 0;
  ASSERT_TRUE(each_change(*opened, [&](const ChangeView& change) {
    const Change& want = all.at(at++);
    EXPECT_EQ(change.op, want.op);
    EXPECT_EQ(change.table, want.table);
    EXPECT_EQ(change.key(), want.key);
    EXPECT_EQ(change.value, want.value);
    EXPECT_EQ(change.phase, want.phase);
    seen += change.bytes;
  }));
  EXPECT_EQ(at, all.size());
  EXPECT_EQ(seen, bytes);
}

// zlib's crc32() of the byte 3 and the text.
TEST(Entry, HasTheChecksumOfZlib) {
  EXPECT_EQ(seal_entry("123456789"), std::string("\x03\xfd\xfe\x40\x25", 5) + "123456789");
  const std::string all = "The quick brown fox jumps over the lazy dog";  // longer than one step of sixteen bytes
  EXPECT_EQ(seal_entry(all), std::string("\x03\xb2\x26\x9a\x44", 5) + all);
}

TEST(Entry, PlainInSchemaVersion2IsStillRead) {
  EXPECT_EQ(open_entry(std::string("\x01\x26\x39\xf4\xcb", 5) + "123456789"), "123456789");
  EXPECT_EQ(open_entry(std::string("\x01\x26\x39\xf4\xcb", 5) + "123456788"), std::nullopt);
}

// An entry whose form byte was overwritten must not be read as an entry of another form.
TEST(Entry, ChecksumCoversTheFormByte) {
  Random random(9);
  for (int i = 0; i < rounds(2'000); ++i) {
    ByteWriter changes;
    for (std::uint64_t more = 1 + random.below(4); more > 0; --more) {
      write_change(changes, Op::put, Table::object, "pods/default/p" + std::to_string(random.below(9)),
                   repetitive(random, random.below(60)), 0);
    }
    std::string sealed = seal_entry(changes.bytes());
    const char own = sealed[0];
    for (int form = 0; form < 256; ++form) {
      if (static_cast<char>(form) == own) continue;
      sealed[0] = static_cast<char>(form);
      ASSERT_EQ(open_entry(sealed), std::nullopt) << form;
    }
  }
}

TEST(Entry, CompressedInSchemaVersion2IsStillRead) {
  std::string changes;
  for (int i = 0; i < 40; ++i) changes += "kube-scheduler ";
  const std::string head("\x02\x90\x1a\x32\x72", 5);  // the CRC-32 of the uncompressed changes
  EXPECT_EQ(open_entry(head + squeeze(changes)), changes);
  EXPECT_EQ(open_entry(head + squeeze(changes + "!")), std::nullopt);
  EXPECT_EQ(seal_entry(changes)[0], 4);
  EXPECT_EQ(open_entry(seal_entry(changes)), changes);
}

// A change as an entry has it; `bytes` keeps what its views refer to.
ChangeView change_of(ByteWriter& bytes, Op op, const std::string& key, int phase = 0) {
  bytes.take();
  write_change(bytes, op, Table::row, key, "a row", phase);
  ChangeView made;
  EXPECT_TRUE(each_change(bytes.bytes(), [&made](const ChangeView& change) { made = change; }));
  return made;
}

TEST(LaterRecords, AreVisitedInTheOrderOfTableAndKey) {
  LaterRecords later;
  std::map<std::pair<Table, std::string>, std::string> want;
  Random random(7);
  const std::vector<std::string> stems{"", "pods/default/pod-", "pods/default/pod-a/very/long/and/the/same/", "\xff"};
  for (int i = 0; i < 4000; ++i) {
    const auto table = static_cast<Table>(1 + random.below(3));
    std::string key = stems[random.below(stems.size())];
    for (std::uint64_t left = random.below(12); left > 0; --left) key.push_back("\0a9\xf0"[random.below(4)]);
    const std::string value = std::to_string(i);
    if (want.try_emplace({table, key}, value).second) later.add({table, key, value, i % 200});
  }
  later.sort();
  auto next = want.begin();
  const Status seen = later.visit([&](const RecordView& record) {
    EXPECT_EQ(record.table, next->first.first);
    EXPECT_EQ(record.key, next->first.second);
    EXPECT_EQ(record.value, next->second);
    EXPECT_EQ(record.phase, std::stoi(next->second) % 200);
    ++next;
    return Status::ok();
  });
  EXPECT_TRUE(seen.is_success());
  EXPECT_EQ(next, want.end());
}

// Those before it and behind it are in other chunks; sorted, they are read alternately.
TEST(LaterRecords, ARecordOfAnySizeIsKeptWhole) {
  for (const bool sorts : {false, true}) {
    LaterRecords later;
    std::vector<std::pair<std::string, std::string>> want;
    for (int i = 0; i < 300; ++i) {
      const std::size_t size = i % 40 == 7 ? 100'000 : static_cast<std::size_t>(i) * 31;
      want.emplace_back(std::to_string(i % 10) + "/" + std::to_string(i),
                        std::string(size, static_cast<char>('a' + i % 26)));
      later.add({Table::row, want.back().first, want.back().second, 1});
    }
    if (sorts) {
      later.sort();
      std::sort(want.begin(), want.end());
    }
    auto next = want.begin();
    const auto is_next = [&](const RecordView& record) {
      EXPECT_EQ(record.key, next->first);
      EXPECT_TRUE(record.value == next->second) << next->first;
      ++next;
      return Status::ok();
    };
    EXPECT_TRUE(later.visit(is_next).is_success());
    EXPECT_EQ(next, want.end());
    EXPECT_TRUE(later.visit([](const RecordView&) { return Status::error("there are none"); }).is_success());
  }
}

TEST(LaterRecords, AreVisitedUntilTheVisitorFails) {
  LaterRecords later;
  for (const char* key : {"c", "a", "b"}) later.add({Table::row, key, "a row", 1});
  std::string keys;
  const Status seen = later.visit([&keys](const RecordView& record) {
    keys += record.key;
    return record.key == "b" ? Status::error("no") : Status::ok();
  });
  EXPECT_EQ(seen.message(), "no");
  EXPECT_EQ(keys, "cab") << "as they were added, since they were not sorted";
}

TEST(Entry, TreatsAKeyOrPhaseAboveTheMaximumAsDamage) {
  const auto is_sound = [](std::size_t key_bytes, int phase) {
    ByteWriter changes;
    write_change(changes, Op::begin, Table::row, std::string(key_bytes, 'k'), "a row", phase);
    return each_change(changes.bytes(), [](const ChangeView&) {});
  };
  EXPECT_TRUE(is_sound(kKeyMax, kPhaseMax));
  EXPECT_FALSE(is_sound(kKeyMax + 1, 0));
  EXPECT_FALSE(is_sound(1, kPhaseMax + 1));
  EXPECT_FALSE(is_sound(1, -1));
}

TEST(Live, KeepsEachKeyWhileOthersAreAddedAndErased) {
  Live live;
  std::map<std::string, std::pair<std::uint32_t, int>> want;  // the number of the change that holds it, and the phase
  Random random(11);
  ByteWriter bytes;
  constexpr std::int64_t kEntry = (1ll << 33) + 1;
  for (std::uint32_t number = 0; number < 30'000; ++number) {
    std::string key = std::string(random.below(60), 'k') + std::to_string(random.below(3000));
    if (random.below(2) == 0) key = std::to_string(10'000'000 + random.below(3000)) + "-7425-40de-944b-e07fc1f90ae7";
    const Op op = random.below(2) == 0 ? Op::erase : random.below(4) == 0 ? Op::advance : Op::begin;
    const int phase = static_cast<int>(random.below(256));
    const Live::Record record = live.note(kEntry, number, change_of(bytes, op, key, phase));
    EXPECT_EQ(live.phase_of(kEntry, number, record).has_value(), op == Op::begin) << key;
    if (op == Op::erase) want.erase(key);
    if (op == Op::begin) want[key] = {number, phase};
    if (op == Op::advance && want.contains(key)) want[key].second = phase;
  }
  ASSERT_EQ(live.live_changes(), want.size());
  for (const auto& [key, held] : want) {
    const ChangeView change = change_of(bytes, Op::begin, key);
    EXPECT_EQ(live.phase_of(kEntry, held.first, change), held.second) << key;
    EXPECT_EQ(live.phase_of(kEntry, held.first + 1, change), std::nullopt) << key;
    EXPECT_EQ(live.phase_of(kEntry + 1, held.first, change), std::nullopt) << key;
  }
}

// What keys of objects begin with is held once, for as long as any record has it.
TEST(Live, KeepsObjectsOfEachNamespaceWhileNamespacesComeAndGo) {
  Live live;
  std::map<std::pair<Table, std::string>, std::uint32_t> want;  // the number of the change that holds it
  Random random(12);
  ByteWriter bytes;
  const auto change_in = [&bytes](Table table, Op op, const std::string& key) {
    bytes.take();
    write_change(bytes, op, table, key, "value", 0);
    ChangeView change;
    each_change(bytes.bytes(), [&change](const ChangeView& each) { change = each; });
    return change;
  };
  const std::string uid = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
  std::uint32_t number = 0;
  for (int wave = 0; wave < 12; ++wave) {
    for (int i = 0; i < 4'000; ++i, ++number) {
      // Each wave mostly has namespaces of its own.
      const std::string space = "ns-" + std::to_string((random.below(5) == 0 ? 0 : wave) * 300 + random.below(300));
      const std::string name = random.below(9) == 0 ? uid : "web-" + std::to_string(random.below(6));
      std::string key = (random.below(2) == 0 ? "pods/" : "services/") + space + "/" + name;
      if (random.below(20) == 0) key = random.below(2) == 0 ? uid : "bare";
      const Table table = random.below(8) == 0 ? Table::release : Table::object;
      const Op op = random.below(2) == 0 ? Op::erase : Op::put;
      live.note(1, number, change_in(table, op, key));
      if (op == Op::erase) want.erase({table, key});
      if (op == Op::put) want[{table, key}] = number;
    }
    ASSERT_EQ(live.live_changes(), want.size());
    for (const auto& [key, held] : want) {
      ASSERT_TRUE(live.phase_of(1, held, change_in(key.first, Op::put, key.second))) << key.second;
      ASSERT_FALSE(live.phase_of(1, held, change_in(key.first, Op::put, key.second + "0"))) << key.second;
    }
    if (wave % 3 != 2) continue;
    for (const auto& [key, held] : want) live.note(1, number, change_in(key.first, Op::erase, key.second));
    want.clear();
    ASSERT_EQ(live.live_changes(), 0u);
    ASSERT_EQ(live.live_bytes(), 0u);
  }
}

TEST(Entry, EveryBitFlipIsDetected) {
  ByteWriter changes;
  for (int i = 0; i < 5; ++i) write_change(changes, Op::put, Table::object, "pods/default/web", "a manifest", 0);
  const std::string sealed = seal_entry(changes.bytes());
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string damaged = sealed;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    // A flipped match distance may point to the same text elsewhere.
    const auto opened = open_entry(damaged);
    EXPECT_TRUE(!opened || *opened == changes.bytes()) << bit;
  }
}

}  // namespace
}  // namespace berth
