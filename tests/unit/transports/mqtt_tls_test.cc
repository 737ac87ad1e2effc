// The MQTT transport with TLS, against a real broker.
#include <asio/ip/tcp.hpp>
#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/unit/transports/mqtt_fixture.h"

namespace berth {
namespace {

class MqttTlsTest : public MqttTest {
 protected:
  void shell(const std::string& command) {
    ASSERT_EQ(std::system(("cd " + directory_.path() + " && (" + command + ") >/dev/null 2>&1").c_str()), 0) << command;
  }
  void make_authority(const std::string& name) {
    shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" + name +
          " -keyout " + name + ".key -out " + name + ".crt");
  }
  void make_certificate(const std::string& name, const std::string& subject_alt_names) {
    shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=" + name + " -keyout " + name +
          ".key -out " + name + ".csr");
    shell("printf 'subjectAltName=" + subject_alt_names + "' > " + name + ".ext");
    shell("openssl x509 -req -in " + name + ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile " + name +
          ".ext -out " + name + ".crt");
  }
  void SetUp() override {
    make_authority("ca");
    make_authority("other");
    make_certificate("server", "DNS:localhost");
    make_certificate("client", "DNS:client");
    start_secured_broker();
  }
  void start_secured_broker() {
    start_broker("allow_anonymous true\nrequire_certificate true\ncafile " + directory_.file("ca.crt") + "\ncertfile " +
                 directory_.file("server.crt") + "\nkeyfile " + directory_.file("server.key") +
                 "\nmax_queued_messages 20000\n");
  }
  static Millis in_days(int days) { return (Millis{std::time(nullptr)} + days * 24 * 3600) * 1000; }
  MqttOptions tls(const std::string& id) {
    MqttOptions o = options(id);
    o.host = "localhost";
    o.tls = {directory_.file("ca.crt"), directory_.file("client.crt"), directory_.file("client.key")};
    return o;
  }
  void expect_refused(const MqttOptions& o, const std::string& reason) {
    auto a = client(o);
    a->transport.start();
    ASSERT_TRUE(run_until([&] { return a->log.count(reason) >= 2; })) << a->log.text;
    EXPECT_EQ(a->receiver.links, "");
  }
};

TEST_F(MqttTlsTest, CarriesManyMessagesWithCertificatesOnBothSides) {
  auto a = join(tls("a"));
  for (int i = 0; i < 2000; ++i) a->transport.send(message("s/" + std::to_string(i), "x", true, 0));
  settle(*a);
  auto b = join(tls("b"), "s/#", 0);
  ASSERT_TRUE(run_until([&] { return b->receiver.messages.size() == 2000; }));
  EXPECT_LT(b->turns, 500);
  for (int i = 0; i < 10; ++i) {
    b->transport.disconnect();
    b->transport.start();
    ASSERT_TRUE(run_until([&] { return b->transport.is_up(); }));
  }
}

TEST_F(MqttTlsTest, NoticesAtOnceThatNobodyListensOrThatTheServerHangsUp) {
  broker_.reset();
  MqttOptions o = tls("a");
  o.answer_timeout = 3'600'000;
  expect_refused(o, "connection refused or closed");
  asio::ip::tcp::acceptor server(loop_, {asio::ip::address_v4::loopback(), static_cast<unsigned short>(port_)});
  int accepted = 0;
  std::function<void()> accept = [&] {
    server.async_accept([&](const asio::error_code& error, const asio::ip::tcp::socket&) {
      if (error) return;
      ++accepted;
      accept();
    });
  };
  accept();
  auto a = client(o);
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return accepted >= 3; })) << a->log.text;
}

TEST_F(MqttTlsTest, StaysDownWhenAnotherAuthoritySignedTheBroker) {
  MqttOptions o = tls("a");
  o.tls.ca = directory_.file("other.crt");
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, StaysDownWhenTheCertificateIsForAnotherName) {
  MqttOptions o = tls("a");
  o.host = "127.0.0.1";  // the same broker, but its certificate names localhost only
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, AClockThatIsBehindDoesNotMakeAnExpiredCertificateValid) {
  MqttOptions o = tls("a");
  o.tls.time_floor = [] { return in_days(1); };
  EXPECT_TRUE(join(o)->transport.is_up());
  o = tls("b");
  o.tls.time_floor = [] { return in_days(3); };
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, AFloorThatRoseCountsAtTheNextConnection) {
  MqttOptions o = tls("a");
  Millis floor = in_days(1);
  o.tls.time_floor = [&floor] { return floor; };
  auto a = join(o);
  floor = in_days(3);
  a->transport.disconnect();
  a->transport.start();
  EXPECT_TRUE(run_until([&] { return a->log.text.find("certificate verify failed") != std::string::npos; }));
  EXPECT_FALSE(a->transport.is_up());
}

TEST_F(MqttTlsTest, AClockThatIsBehindAcceptsACertificateThatBeganLater) {
  broker_.reset();
  shell(
      "touch index && printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\n"
      "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' > ca.cnf");
  shell(
      "openssl ca -batch -config ca.cnf -cert ca.crt -keyfile ca.key -in server.csr -extfile server.ext -out "
      "server.crt "
      "-startdate $(date -u -d '+12 hours' +%Y%m%d%H%M%SZ) -enddate $(date -u -d '+36 hours' +%Y%m%d%H%M%SZ)");
  start_secured_broker();
  expect_refused(tls("a"), "certificate verify failed");
  MqttOptions o = tls("b");
  o.tls.time_floor = [] { return in_days(1) - Millis{23} * 3'600'000; };
  EXPECT_TRUE(join(o)->transport.is_up());
}

TEST_F(MqttTlsTest, StaysDownWithoutTheCertificateThatTheBrokerRequires) {
  MqttOptions o = tls("a");
  o.tls.cert = o.tls.key = "";
  expect_refused(o, "certificate required");
}

TEST_F(MqttTlsTest, TellsOfARefusedCertificateAndConnectsWithThePairThatItIsGivenThen) {
  MqttOptions o = tls("a");
  o.tls.cert = o.tls.key = "";
  int refused = 0;
  MqttTransport* transport = nullptr;
  o.tls.on_refused = [&] {
    if (++refused == 2) transport->set_client_certificate(directory_.file("client.crt"), directory_.file("client.key"));
  };
  auto a = client(o);
  transport = &a->transport;
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return a->transport.is_up(); })) << a->log.text;
  EXPECT_EQ(refused, 2);
  a->transport.disconnect();
  broker_.reset();
  a->transport.start();
  const int before = a->log.count("refused or closed");
  ASSERT_TRUE(run_until([&] { return a->log.count("refused or closed") >= before + 2; })) << a->log.text;
  EXPECT_EQ(refused, 2) << "nobody was there";
}

// Many come while the connection is being opened: TLS is done by then, and the first packet meets a reset.
TEST_F(MqttTlsTest, TellsOfEachRefusalHoweverSoonItComes) {
  constexpr int kAttempts = 150;
  const auto other = join(tls("b"));  // the broker listens
  MqttOptions o = tls("a");
  o.tls.cert = o.tls.key = "";
  o.backoff_min = o.backoff_max = 1;
  int refused = 0;
  o.tls.on_refused = [&] { ++refused; };
  auto a = client(o);
  a->transport.start();
  ASSERT_TRUE(run_until([&] { return a->log.count("mqtt connect failed") >= kAttempts; })) << a->log.text;
  EXPECT_EQ(refused, kAttempts) << a->log.text;
}

TEST_F(MqttTlsTest, ABrokerOfAnotherAuthorityRefusesNothing) {
  MqttOptions o = tls("a");
  o.tls.ca = directory_.file("other.crt");
  o.tls.on_refused = [] { FAIL(); };
  expect_refused(o, "certificate verify failed");
}

TEST_F(MqttTlsTest, NamesTheFileItCannotRead) {
  MqttOptions o = tls("a");
  o.tls.ca = directory_.file("missing.crt");
  expect_refused(o, "tls.ca: cannot read " + o.tls.ca);
  o = tls("a");
  o.tls.key = directory_.file("server.key");
  expect_refused(o, "does not match tls.cert: " + o.tls.key);
}

}  // namespace
}  // namespace berth
