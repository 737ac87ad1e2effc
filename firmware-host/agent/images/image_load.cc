#include "firmware-host/agent/images/image_load.h"

#include <utility>

namespace berth {

ImageLoad::ImageLoad(ImageStore& store, std::string name, OnEnd on_end)
    : store_(store), name_(std::move(name)), on_end_(std::move(on_end)) {}

Result<std::unique_ptr<ImageLoad>> ImageLoad::start(asio::io_context& context, ImageStore& store,
                                                    const Archive& archive, OnEnd on_end) {
  const std::string& path = archive.path;
  if (path.empty() || path.find_first_of(":\t\n") != std::string::npos) {
    return Status::error("path \"" + path + "\": must have no colon, tab or line end; rename the file");
  }
  std::unique_ptr<ImageLoad> load(new ImageLoad(store, archive.name, std::move(on_end)));
  auto task = ChildTask::start(context, listing_images(path, archive.most_bytes),
                               [raw = load.get()](const ChildEnd& end) { raw->on_listed(end); });
  if (!task) return task.error();
  load->listing_ = std::move(*task);
  return load;
}

void ImageLoad::on_listed(const ChildEnd& end) {
  listing_.reset();
  if (end.code != 0) return finish(Status::error(end.text.empty() ? "it could not be read" : end.text));
  for (ArchivedImage& image : read_listed(end.text)) images_.push_back(std::move(image));
  if (!name_.empty()) {
    for (const ArchivedImage& image : images_) {
      if (image.source != images_.front().source) {
        return finish(Status::error("it has several images, which cannot all be named " + name_));
      }
    }
    images_.resize(1);
    images_.front().name = name_;
  }
  load_next();
}

void ImageLoad::load_next() {
  if (images_.empty()) return finish(Status::ok());
  const ArchivedImage image = std::move(images_.front());
  images_.pop_front();
  if (image.name.empty()) return finish(Status::error("an image in it has no name; give one to load it as"));
  const Result<ImageReference> reference = parse_image_reference(image.name);
  if (!reference) return finish(reference.error());
  const Status begun = store_.import(
      image.source, *reference,
      [this, is_alive = std::weak_ptr<bool>(is_alive_), text = reference->text()](const Result<ImageRecord>& loaded) {
        if (is_alive.expired()) return;
        if (!loaded) return finish(loaded.error());
        loaded_.push_back(text);
        load_next();
      });
  if (!begun.is_success()) finish(begun);
}

void ImageLoad::finish(Status status) {
  const OnEnd on_end = std::move(on_end_);
  if (!status.is_success()) return on_end(std::move(status));
  on_end(std::move(loaded_));
}

}  // namespace berth
