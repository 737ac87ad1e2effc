#include "core/handshake/proof.h"

#include <gtest/gtest.h>

#include "core/handshake/fields.h"

namespace berth {
namespace {

constexpr ProofKey kKey{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

std::string hex(const SipTag& tag) {
  std::string text;
  for (const std::uint8_t byte : tag) {
    text += "0123456789ABCDEF"[byte >> 4];
    text += "0123456789ABCDEF"[byte & 0xf];
  }
  return text;
}

// openssl mac -macopt hexkey:000102030405060708090A0B0C0D0E0F -macopt size:16 SIPHASH
TEST(SipHash, IsThatOfOpenSsl) {
  std::string message;
  const auto grown = [&message](std::size_t size) {
    while (message.size() < size) message += static_cast<char>('a' + message.size() % 26);
    return message;
  };
  EXPECT_EQ(hex(siphash(kKey, grown(0))), "A3817F04BA25A8E66DF67214C7550293");
  EXPECT_EQ(hex(siphash(kKey, grown(1))), "0EA4F2FB02AD21D92D5FC91684F26426");
  EXPECT_EQ(hex(siphash(kKey, grown(7))), "5594F7EAED3F0D1DA681551476CCBEDE");
  EXPECT_EQ(hex(siphash(kKey, grown(8))), "8C93E201AC8E8396897E3133E447EDA3");
  EXPECT_EQ(hex(siphash(kKey, grown(15))), "ACC5EFB3F1B7C766B7498501D048D03F");
  EXPECT_EQ(hex(siphash(kKey, grown(16))), "9B921AB9E3FDCE8FA9E5A6966730691E");
  EXPECT_EQ(hex(siphash(kKey, grown(63))), "0A653B29F3DEBFDACAADA1AB2A8EE28D");
}

TEST(Proof, TellsTheTermToWhoeverHasTheKey) {
  const std::string proof = make_proof(kKey, {7, "store"}, "n1");
  EXPECT_EQ(proof, "7.1132934e5785603deb6899aacaca2dcb");
  EXPECT_TRUE(is_valid_id(proof));
  EXPECT_EQ(read_proof(kKey, "store", "n1", proof), 7u);
}

TEST(Proof, OfAnotherNodeStoreTermOrKeyIsNone) {
  const std::string proof = make_proof(kKey, {7, "store"}, "n1");
  EXPECT_FALSE(read_proof(kKey, "store", "n2", proof));
  EXPECT_FALSE(read_proof(kKey, "another", "n1", proof));
  EXPECT_FALSE(read_proof(kKey, "store", "n1", "8" + proof.substr(1)));
  EXPECT_FALSE(read_proof(ProofKey{9}, "store", "n1", proof));
}

TEST(Proof, ThatIsMalformedIsNone) {
  const std::string proof = make_proof(kKey, {7, "store"}, "n1");
  for (const std::string& bad :
       {std::string(), std::string("7"), std::string("7."), "07" + proof.substr(1), proof + "0",
        proof.substr(0, proof.size() - 1), std::string("99999999999999999999.ab")}) {
    EXPECT_FALSE(read_proof(kKey, "store", "n1", bad)) << bad;
  }
}

}  // namespace
}  // namespace berth
