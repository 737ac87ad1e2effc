#include "core/objects/report.h"

#include "core/api/manifest.h"
#include "core/api/shape.h"

namespace berth {

Report::Report(const Json& observed) {
  if (observed.is_null()) return;
  const Json* text = observed.find("epoch");
  const Result<Epoch> epoch = parse_epoch(text != nullptr && text->is_string() ? text->as_string() : "");
  if (epoch) epoch_ = *epoch;
  const Json* start = observed.find("startTime");
  if (start != nullptr && start->is_string()) start_ = Text::common(start->as_string());
  shape_ = Text::common(shape_of(observed.dump(), to_text(epoch_), start_));
}

std::string Report::text() const { return fill_shape(shape_, to_text(epoch_), start_); }

Json Report::json() const { return Manifest::of_text(text()).json(); }

}  // namespace berth
