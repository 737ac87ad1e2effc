#include "core/handshake/proof.h"

#include <string>

#include "core/handshake/fields.h"

namespace berth {

namespace {

// How long it takes does not tell how much of it is right.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t at = 0; at < a.size(); ++at) different |= static_cast<unsigned>(a[at] ^ b[at]);
  return different == 0;
}

std::string code_of(const ProofKey& key, std::string_view message) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string code;
  for (const std::uint8_t byte : siphash(key, message)) {
    code += kDigits[byte >> 4];
    code += kDigits[byte & 0xf];
  }
  return code;
}

}  // namespace

std::string make_proof(const ProofKey& key, const GatewayId& id, std::string_view node) {
  const std::string term = std::to_string(id.term);
  std::string message = id.store_id;  // none of the three contains a slash
  message.append("/").append(term).append("/").append(node);
  return term + "." + code_of(key, message);
}

std::optional<std::uint64_t> read_proof(const ProofKey& key, std::string_view store_id, std::string_view node,
                                        std::string_view proof) {
  const std::optional<std::uint64_t> term = parse_u64(proof.substr(0, proof.find('.')));
  if (!term || !is_same(make_proof(key, {*term, std::string(store_id)}, node), proof)) return std::nullopt;
  return term;
}

std::string machine_code(const ProofKey& key) { return code_of(key, "machine"); }  // a proof's message has two slashes

}  // namespace berth
