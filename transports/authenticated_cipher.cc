#include "transports/authenticated_cipher.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>

namespace berth {

namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kCodeBytes = 16;
constexpr std::size_t kBytesMax = 16 << 20;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

const unsigned char* in(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* out(std::string& bytes, std::size_t at) { return reinterpret_cast<unsigned char*>(bytes.data()) + at; }

}  // namespace

Result<std::string> encrypt(const CipherKey& key, std::string_view context, std::string_view bytes) {
  if (bytes.size() > kBytesMax) return Status::error("more than 16 MiB to encrypt");
  std::string result(kNonceBytes + bytes.size() + kCodeBytes, '\0');
  std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> cipher(EVP_CIPHER_CTX_new());
  int count = 0;
  const bool done =
      cipher != nullptr && RAND_bytes(out(result, 0), kNonceBytes) == 1 &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), in(result)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &count, in(context), static_cast<int>(context.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), out(result, kNonceBytes), &count, in(bytes), static_cast<int>(bytes.size())) ==
          1 &&
      EVP_EncryptFinal_ex(cipher.get(), out(result, kNonceBytes + bytes.size()), &count) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kCodeBytes, out(result, kNonceBytes + bytes.size())) == 1;
  if (!done) return Status::error("OpenSSL cannot encrypt with AES-256-GCM");
  return result;
}

std::optional<std::string> decrypt(const CipherKey& key, std::string_view context, std::string_view encrypted) {
  if (encrypted.size() < kNonceBytes + kCodeBytes || encrypted.size() > kBytesMax + kNonceBytes + kCodeBytes) {
    return std::nullopt;
  }
  const std::size_t size = encrypted.size() - kNonceBytes - kCodeBytes;
  std::string bytes(size, '\0');
  std::string code(encrypted.substr(kNonceBytes + size));
  std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> cipher(EVP_CIPHER_CTX_new());
  int count = 0;
  const bool done =
      cipher != nullptr &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), in(encrypted)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &count, in(context), static_cast<int>(context.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), out(bytes, 0), &count, in(encrypted.substr(kNonceBytes)),
                        static_cast<int>(size)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kCodeBytes, out(code, 0)) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), out(bytes, size), &count) == 1;
  return done ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace berth
