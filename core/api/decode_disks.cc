// Volume sources that two pods may not share, or of which a node can attach a limited number (core/v1 VolumeSource and
// PersistentVolumeSource).
#include "core/api/decode_parts.h"
#include "core/api/disk_source.h"

namespace berth::decode {
namespace {

struct Source {
  std::string_view field;
  std::string_view id;  // the field that identifies the disk
  DiskSource::Type type;
};

using Type = DiskSource::Type;
constexpr std::array kSources{
    Source{"gcePersistentDisk", "pdName", Type::gce_persistent_disk},
    Source{"awsElasticBlockStore", "volumeID", Type::aws_elastic_block_store},
    Source{"iscsi", "iqn", Type::iscsi},
    Source{"rbd", "image", Type::rbd},
    Source{"csi", "driver", Type::csi},
    Source{"azureDisk", "diskURI", Type::azure_disk},
    Source{"cinder", "volumeID", Type::cinder},
};

}  // namespace

void read_disk_sources(FieldReader& reader, DiskSource& out) {
  for (const Source& source : kSources) {
    reader.read_object(source.field, [&](FieldReader& disk) {
      out = DiskSource{};
      out.type = source.type;
      if (disk.require(source.id, "the name of the disk")) disk.read_string(source.id, out.id);
      disk.read_bool("readOnly", out.read_only);
      if (source.type == Type::rbd) {
        disk.read_string("pool", out.pool);
        disk.read_list("monitors", out.monitors);
      }
    });
  }
}

}  // namespace berth::decode
