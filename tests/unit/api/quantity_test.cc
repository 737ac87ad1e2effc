#include "core/api/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Quantity parse(std::string_view text) {
  const Result<Quantity> quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity) << text << ": " << quantity.error().message();
  return quantity ? *quantity : Quantity();
}

TEST(Quantity, ReadsEverySuffix) {
  struct Case {
    const char* text;
    std::int64_t value;
    std::int64_t milli;
    const char* canonical;
  };
  const Case cases[] = {
      {"0", 0, 0, "0"},
      {"2", 2, 2000, "2"},
      {"+2", 2, 2000, "2"},
      {"007", 7, 7000, "7"},
      {"1.", 1, 1000, "1"},
      {".5", 1, 500, "500m"},
      {"1.5", 2, 1500, "1500m"},
      {"1n", 1, 1, "1n"},
      {"1500n", 1, 1, "1500n"},
      {"2000n", 1, 1, "2u"},
      {"3u", 1, 1, "3u"},
      {"250m", 1, 250, "250m"},
      {"1000m", 1, 1000, "1"},
      {"1k", 1000, 1000000, "1000"},
      {"1M", 1000000, 1000000000, "1000000"},
      {"1G", 1000000000, 1000000000000, "1000000000"},
      {"1T", 1000000000000, 1000000000000000, "1000000000000"},
      {"1P", 1000000000000000, 1000000000000000000, "1000000000000000"},
      {"1E", 1000000000000000000, kMax, "1000000000000000000"},
      {"1Ki", 1024, 1024000, "1024"},
      {"64Mi", 67108864, 67108864000, "67108864"},
      {"1.5Gi", 1610612736, 1610612736000, "1610612736"},
      {"1Ti", 1099511627776, 1099511627776000, "1099511627776"},
      {"1Pi", 1125899906842624, 1125899906842624000, "1125899906842624"},
      {"1Ei", 1152921504606846976, kMax, "1152921504606846976"},
      {"0.5Ki", 512, 512000, "512"},
      {"0.1Mi", 104858, 104857600, "104857600m"},
      {"1e3", 1000, 1000000, "1000"},
      {"1E3", 1000, 1000000, "1000"},
      {"1e+3", 1000, 1000000, "1000"},
      {"15e-1", 2, 1500, "1500m"},
      {"12e6", 12000000, 12000000000, "12000000"},
      {"0e999999999999999999999", 0, 0, "0"},
  };
  for (const Case& c : cases) {
    const Quantity quantity = parse(c.text);
    EXPECT_EQ(quantity.value(), c.value) << c.text;
    EXPECT_EQ(quantity.milli_value(), c.milli) << c.text;
    EXPECT_EQ(quantity.to_text(), c.canonical) << c.text;
    EXPECT_EQ(parse(quantity.to_text()), quantity) << c.text;
  }
}

TEST(Quantity, KeepsInt64ValuesExact) {
  EXPECT_EQ(parse("9223372036854775807").value(), kMax);
  EXPECT_EQ(parse("9223372036854775806").value(), kMax - 1);
  EXPECT_EQ(parse("9007199254740993").value(), 9007199254740993);
  EXPECT_EQ(parse("9223372036854775.807k").value(), kMax);
  EXPECT_EQ(parse("9223372036854775807000m").value(), kMax);
  EXPECT_EQ(parse("9007199254740991Ki").value(), kMax - 1023);
  EXPECT_EQ(parse("9223372036854775807").to_text(), "9223372036854775807");
  EXPECT_EQ(parse("0.000000001Gi").to_text(), "1073741824n");
}

TEST(Quantity, SaturatesBeyondInt64) {
  for (const char* text : {"9223372036854775808", "9223372036854775807.5", "8Ei", "9.3E", "16Ei", "1e19", "1e400",
                           "99999999999999999999999999", "1e99999999999999999999", "9007199254740993Mi"}) {
    EXPECT_EQ(parse(text).value(), kMax) << text;
    EXPECT_EQ(parse(text).milli_value(), kMax) << text;
    EXPECT_EQ(parse(text), Quantity(kMax)) << text;
    EXPECT_EQ(parse("-" + std::string(text)).value(), -kMax) << text;
  }
  EXPECT_EQ(parse("9223372036854775807m").value(), 9223372036854776);
  EXPECT_EQ(parse("9223372036854775.807").milli_value(), kMax);
  EXPECT_EQ(parse("9223372036854775.808").milli_value(), kMax);
  EXPECT_EQ(Quantity(std::numeric_limits<std::int64_t>::min()).milli_value(), -kMax);
  EXPECT_EQ(parse("-9223372036854775.807").milli_value(), -kMax);
}

TEST(Quantity, RoundsUpBeyondNano) {
  EXPECT_EQ(parse("0.1n"), parse("1n"));
  EXPECT_EQ(parse("1.0000000001"), parse("1.000000001"));
  EXPECT_EQ(parse("0.9999999991"), Quantity(1));
  EXPECT_EQ(parse("1e-999999999"), parse("1n"));
  EXPECT_EQ(parse("1e-99999999999999999999"), parse("1n"));
  EXPECT_EQ(parse("-0.1n").to_text(), "-1n");
  EXPECT_EQ(parse("1.0000000000"), Quantity(1));
}

TEST(Quantity, RoundsNegativesAwayFromZero) {
  EXPECT_EQ(parse("-1.5").value(), -2);
  EXPECT_EQ(parse("-1.5").milli_value(), -1500);
  EXPECT_EQ(parse("-1.0005").milli_value(), -1001);
  EXPECT_EQ(parse("-1.5").to_text(), "-1500m");
  EXPECT_EQ(parse("-250m").to_text(), "-250m");
  EXPECT_EQ(parse("-3"), Quantity(-3));
  EXPECT_LT(parse("-0.5"), parse("-0.4"));
}

TEST(Quantity, ComparesByAmountNotByText) {
  EXPECT_EQ(parse("1Gi"), parse("1024Mi"));
  EXPECT_EQ(parse("0.5"), parse("500m"));
  EXPECT_LT(parse("999m"), parse("1"));
  EXPECT_LT(parse("1G"), parse("1Gi"));
}

TEST(Quantity, AddsExactly) {
  EXPECT_EQ(parse("0.5m") + parse("0.5m"), parse("1m"));
  EXPECT_EQ(parse("999999999n") + parse("1n"), Quantity(1));
  EXPECT_EQ(parse("1.7") + parse("2.6"), parse("4.3"));
  EXPECT_EQ(parse("-0.4") + parse("0.3"), parse("-0.1"));
  EXPECT_EQ(parse("-1.5") + parse("-1.5"), Quantity(-3));
}

TEST(Quantity, SaturatesWhenItAdds) {
  EXPECT_EQ(Quantity(kMax) + Quantity(1), Quantity(kMax));
  EXPECT_EQ((Quantity(kMax) + parse("0.5")).value(), kMax);
  EXPECT_EQ((Quantity(kMax - 1) + parse("0.5") + parse("0.5")), Quantity(kMax));
  const Quantity least(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(least + Quantity(-1), least);
}

TEST(Quantity, ConvertsFromThousandths) {
  EXPECT_EQ(Quantity::from_milli(1500), parse("1500m"));
  EXPECT_EQ(Quantity::from_milli(-250), parse("-250m"));
  EXPECT_EQ(Quantity::from_milli(2000), Quantity(2));
}

TEST(Quantity, RefusesInvalidTexts) {
  for (const char* text :
       {"",   " ",   "+",       "-",    ".",     "Mi",  "1 Gi", " 1",  "1 ",  "1KI", "1ki", "1K",  "1kB",   "1GB",
        "1e", "1e+", "1.5e1.5", "1..5", "1.2.3", "--1", "0x10", "1,5", "1mm", "1Zi", "inf", "nan", "1_000", "m"}) {
    EXPECT_FALSE(Quantity::parse(text)) << text;
  }
  const auto error_of = [](std::string_view text) { return Quantity::parse(text).error().message(); };
  EXPECT_EQ(error_of("abc"), "expected a quantity such as 250m, 2 or 64Mi, got \"abc\": it has no digits");
  EXPECT_EQ(error_of("64MB"),
            "expected a quantity such as 250m, 2 or 64Mi, got \"64MB\": unknown suffix \"MB\"; drop the B");
  EXPECT_EQ(error_of("4K"),
            "expected a quantity such as 250m, 2 or 64Mi, got \"4K\": unknown suffix \"K\"; use k (1000) or Ki (1024)");
  EXPECT_EQ(error_of(""), "expected a quantity such as 250m, 2 or 64Mi, got \"\": it is empty");
}

TEST(Quantity, ReadsALongText) {
  EXPECT_EQ(parse(std::string(60000, '0') + "5").value(), 5);
  EXPECT_EQ(parse(std::string(60000, '9') + "Ei").value(), kMax);
  EXPECT_EQ(parse("0." + std::string(60000, '0') + "1"), parse("1n"));
}

TEST(Quantity, FormatsHumanReadableAmounts) {
  EXPECT_EQ(show_bytes(67108864), "64Mi");
  EXPECT_EQ(show_bytes(1572864), "1536Ki");
  EXPECT_EQ(show_bytes(0), "0");
  EXPECT_EQ(show_bytes(1000), "1000");
  EXPECT_EQ(show_bytes(std::int64_t{1} << 62), "4Ei");
  EXPECT_EQ(show_bytes(-2048), "-2Ki");
  EXPECT_EQ(show_milli(250), "250m");
  EXPECT_EQ(show_milli(2000), "2");
}

}  // namespace
}  // namespace berth
