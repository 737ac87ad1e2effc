// The key of the proofs that a gateway gives with its terms (P12), in a file of its own beside the database: it must
// not be lost, nor come back older, together with it.
#pragma once

#include <string>

#include "core/handshake/proof.h"
#include "core/status.h"

namespace berth {

// The key in this file: one line of 32 hexadecimal digits, readable by its owner alone. If there is no such file it is
// made, with a random key, and durable on return. An error names the file, and what to do.
Result<ProofKey> open_proof_key(const std::string& path);

}  // namespace berth
