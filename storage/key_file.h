// Files that hold one key.
//
// The key of the proofs that a gateway gives with its terms (P12), in a file of its own beside the database: it must
// not be lost, nor come back older, together with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/handshake/proof.h"
#include "core/status.h"

namespace berth {

// The key in this file: one line of 32 hexadecimal digits, readable by its owner alone. If there is no such file it is
// made, with a random key, and durable on return. An error names the file, and what to do.
Result<ProofKey> open_proof_key(const std::string& path);

// A key of any length, as hexadecimal digits on one line, in a file that only its owner may read.
// False: there is no such file. An error names the file, and what is wrong with it.
Result<bool> read_key_file(const std::string& path, std::span<std::uint8_t> key);
// Durable on return.
Status write_key_file(const std::string& path, std::span<const std::uint8_t> key);

}  // namespace berth
