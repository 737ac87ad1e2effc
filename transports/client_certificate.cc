#include "transports/client_certificate.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>

#include "transports/tls_context.h"

namespace berth {

namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using SigningRequest = std::unique_ptr<X509_REQ, Freed<X509_REQ_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;

Status failed(const std::string& what) {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return Status::error(reason == nullptr ? what : what + ": " + reason);
}

Bio bytes_of(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string text_in(const Bio& bytes) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bytes.get(), &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Key read_key(const std::string& text) {
  const Bio bytes = bytes_of(text);
  return Key(bytes == nullptr ? nullptr : PEM_read_bio_PrivateKey(bytes.get(), nullptr, nullptr, nullptr));
}

bool is_named(X509* certificate, const std::string& name) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return false;
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(value));
  return std::string(bytes, static_cast<std::size_t>(ASN1_STRING_length(value))) == name;
}

// Whenever it is valid: who cannot trust its clock judges that differently (N9).
Status check_signer(X509* certificate, const std::string& ca) {
  const Store store(X509_STORE_new());
  const Verification verification(X509_STORE_CTX_new());
  if (store == nullptr || verification == nullptr || X509_STORE_load_locations(store.get(), ca.c_str(), nullptr) != 1 ||
      X509_STORE_CTX_init(verification.get(), store.get(), certificate, nullptr) != 1) {
    return failed("cannot read " + ca);
  }
  X509_STORE_CTX_set_flags(verification.get(), X509_V_FLAG_NO_CHECK_TIME);
  X509_STORE_CTX_set_purpose(verification.get(), X509_PURPOSE_SSL_CLIENT);
  if (X509_verify_cert(verification.get()) == 1) return Status::ok();
  const int why = X509_STORE_CTX_get_error(verification.get());
  ERR_clear_error();
  return Status::error("the certificate is not one of the authority in " + ca + ": " +
                       X509_verify_cert_error_string(why));
}

}  // namespace

Result<std::string> make_private_key() {
  ERR_clear_error();
  const Key key(EVP_EC_gen("P-256"));
  const Bio bytes(BIO_new(BIO_s_mem()));
  if (key == nullptr || bytes == nullptr ||
      PEM_write_bio_PrivateKey(bytes.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return failed("cannot make a key");
  }
  return text_in(bytes);
}

Result<std::string> make_signing_request(const std::string& key, const std::string& name) {
  ERR_clear_error();
  const Key own = read_key(key);
  const SigningRequest request(X509_REQ_new());
  const Bio bytes(BIO_new(BIO_s_mem()));
  if (own == nullptr || request == nullptr || bytes == nullptr) return failed("cannot read the key");
  const bool is_made =
      X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request.get()), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1 &&
      X509_REQ_set_pubkey(request.get(), own.get()) == 1 && X509_REQ_sign(request.get(), own.get(), EVP_sha256()) > 0 &&
      PEM_write_bio_X509_REQ(bytes.get(), request.get()) == 1;
  if (!is_made) return failed("cannot make a signing request");
  return text_in(bytes);
}

Result<CertificateLife> examine_certificate(const std::string& certificate, const ExpectedCertificate& expected) {
  ERR_clear_error();
  const Bio bytes = bytes_of(certificate);
  const Certificate read(bytes == nullptr ? nullptr : PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr));
  if (read == nullptr) return failed("cannot read the certificate");
  const Key key = read_key(expected.key);
  if (key == nullptr) return failed("cannot read the key");
  if (X509_check_private_key(read.get(), key.get()) != 1) {
    ERR_clear_error();
    return Status::error("the certificate is for another key");
  }
  if (!is_named(read.get(), expected.name)) {
    return Status::error("the certificate is for another name than " + expected.name);
  }
  if (Status signer = check_signer(read.get(), expected.ca); !signer.is_success()) return signer;
  return life_of(read.get());
}

}  // namespace berth
