#include "core/metrics.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

template <class T>
std::string text_of(const Family<T>& family) {
  std::string text;
  family.render(text);
  return text;
}

TEST(Metrics, CountersAndGaugesHaveALinePerSetOfLabels) {
  Family<Counter> counter("a_total", "What it counts", {"who", "how"});
  EXPECT_EQ(text_of(counter), "") << "nothing counted yet";
  counter.at({"x", "slow"}).add();
  counter.at({"x", "fast"}).add(41);
  counter.at({"x", "fast"}).add();
  EXPECT_EQ(text_of(counter),
            "# HELP a_total What it counts\n# TYPE a_total counter\n"
            "a_total{who=\"x\",how=\"fast\"} 42\na_total{who=\"x\",how=\"slow\"} 1\n");
  Family<Gauge> gauge("b", "b");
  gauge.at().set(-3);
  EXPECT_EQ(text_of(gauge), "# HELP b b\n# TYPE b gauge\nb -3\n");
  gauge.clear();
  EXPECT_EQ(text_of(gauge), "");
}

TEST(Metrics, HistogramBucketsAreCumulative) {
  Family<Histogram> histogram("h_seconds", "h", {"of"}, {0.5, 1, 2.5});
  for (const double value : {0.5, 0.75, 2.0, 100.0}) histogram.at({"x"}).observe(value);
  EXPECT_EQ(text_of(histogram),
            "# HELP h_seconds h\n# TYPE h_seconds histogram\n"
            "h_seconds_bucket{of=\"x\",le=\"0.5\"} 1\nh_seconds_bucket{of=\"x\",le=\"1\"} 2\n"
            "h_seconds_bucket{of=\"x\",le=\"2.5\"} 3\nh_seconds_bucket{of=\"x\",le=\"+Inf\"} 4\n"
            "h_seconds_sum{of=\"x\"} 103.25\nh_seconds_count{of=\"x\"} 4\n");
  Family<Histogram> bare("g", "g", {}, {1});
  bare.at().observe(1);
  EXPECT_EQ(text_of(bare),
            "# HELP g g\n# TYPE g histogram\ng_bucket{le=\"1\"} 1\ng_bucket{le=\"+Inf\"} 1\n"
            "g_sum 1\ng_count 1\n");
}

TEST(Metrics, LabelValuesAndHelpAreEscaped) {
  Family<Gauge> gauge("g", "a\\b\n\"c\"", {"v"});
  gauge.at({"a\\b\n\"c\""}).set(1);
  EXPECT_EQ(text_of(gauge), "# HELP g a\\\\b\\n\"c\"\n# TYPE g gauge\ng{v=\"a\\\\b\\n\\\"c\\\"\"} 1\n");
}

TEST(Metrics, BucketsGrowByAFactor) {
  EXPECT_EQ(exponential_buckets(0.25, 2, 4), (std::vector<double>{0.25, 0.5, 1, 2}));
}

TEST(Metrics, UseKubeSchedulersNames) {
  Metrics metrics;
  EXPECT_EQ(metrics.text(), "");
  metrics.schedule_attempts.at({"default-scheduler", "scheduled"}).add();
  metrics.preemption_victims.at().observe(3);
  const std::string text = metrics.text();
  EXPECT_NE(text.find("scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("scheduler_preemption_victims_bucket{le=\"64\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace berth
