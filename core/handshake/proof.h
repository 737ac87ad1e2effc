// Proofs of terms: what a gateway gives a node with its term, and the node returns in Superseded. The node does not
// look into it, and cannot make one: it carries a code under a key that only the gateway's machine has. So a proof
// tells that a gateway of this machine has had a term, whatever has become of its store since (P12).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/handshake/epoch.h"
#include "core/handshake/siphash.h"

namespace berth {

using ProofKey = SipKey;

// "<term>.<code>", the code over store id, term and node: an id as is_valid_id() has it.
std::string make_proof(const ProofKey& key, const GatewayId& id, std::string_view node);
// The term that the gateway of this store has had when it gave the node the proof. None: nobody with the key gave it.
std::optional<std::uint64_t> read_proof(const ProofKey& key, std::string_view store_id, std::string_view node,
                                        std::string_view proof);
// Tells the machine with this key from others, whatever becomes of its store; says nothing about the key.
std::string machine_code(const ProofKey& key);

}  // namespace berth
