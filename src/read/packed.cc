#include "read/packed.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"

namespace driverupgrade::internal {
namespace {

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// The overloads return the fields in the order in which they are packed and unpacked. Each structured binding names all
// members, so that the build fails if a new member is not added here.
auto FieldsOf(Is<OwnerReference> auto& owner) {
  auto& [api_version, kind, name, uid, controller] = owner;
  return std::tie(api_version, kind, name, uid, controller);
}
auto FieldsOf(Is<ContainerStatus> auto& status) {
  auto& [name, ready, restart_count, started, image_pull_fails, start_error, image] = status;
  return std::tie(name, ready, restart_count, started, image_pull_fails, start_error, image);
}
auto FieldsOf(Is<PodVolume> auto& volume) {
  auto& [name, kind, host_path] = volume;
  return std::tie(name, kind, host_path);
}
auto FieldsOf(Is<Taint> auto& taint) {
  auto& [key, value, effect, time_added] = taint;
  return std::tie(key, value, effect, time_added);
}
auto FieldsOf(Is<Node> auto& node) {
  auto& [name, uid, version, labels, annotations, unschedulable, deletion, taints, ready, ready_transition,
         extended_resources, conditions, unreadable] = node;
  // Fields that are also read without unpacking the rest come first.
  return std::tie(uid, version, unschedulable, deletion, taints, ready, ready_transition, labels, annotations,
                  extended_resources, conditions, unreadable);
}
auto FieldsOf(Is<Pod> auto& pod) {
  auto& [ref, version, node_name, affinity_node, unscheduled, labels, owners, phase, deletion, finalizers, mirror,
         empty_dir, tolerates_since, ended, released, init, containers, not_ready_since, ready_since, resources, claims,
         annotations, volumes, scheduler, subdomain, pod_group, unreadable] = pod;
  auto& [ns, name, uid] = ref;
  // The UID and the version come first, because they are also read without unpacking the rest. Unreadable and unbound
  // pods are never packed.
  return std::tie(uid, version, ns, name, labels, owners, phase, deletion, finalizers, mirror, empty_dir,
                  tolerates_since, ended, released, init, containers, not_ready_since, ready_since, resources, claims,
                  annotations, volumes, scheduler, subdomain, pod_group);
}
auto FieldsOf(Is<Condition> auto& condition) {
  auto& [type, status, reason, message, last_transition, observed_generation] = condition;
  return std::tie(type, status, reason, message, last_transition, observed_generation);
}
auto FieldsOf(Is<AllocatedPool> auto& pool) {
  auto& [driver, name, admin_access] = pool;
  return std::tie(driver, name, admin_access);
}
auto FieldsOf(Is<ClaimConsumer> auto& consumer) {
  auto& [resource, name, uid] = consumer;
  return std::tie(resource, name, uid);
}
auto FieldsOf(Is<PublishedDevice> auto& device) {
  auto& [name, driver_version] = device;
  return std::tie(name, driver_version);
}
// In the next three overloads, the name comes first, because it is also read without unpacking the rest.
auto FieldsOf(Is<DeviceTaintRule> auto& rule) {
  auto& [name, uid, version, generation, labels, node_name, node_uid, driver, pool, key, value, effect, time_added,
         deletion, conditions, unreadable] = rule;
  return std::tie(name, uid, version, generation, labels, node_name, node_uid, driver, pool, key, value, effect,
                  time_added, deletion, conditions, unreadable);
}
auto FieldsOf(Is<ResourceClaim> auto& claim) {
  auto& [ns, name, uid, version, pod_uid, allocated, allocation_time, reserved_for, deletion, unreadable] = claim;
  return std::tie(ns, name, uid, version, pod_uid, allocated, allocation_time, reserved_for, deletion, unreadable);
}
auto FieldsOf(Is<ResourceSlice> auto& slice) {
  auto& [name, uid, version, node_name, driver, pool, pool_generation, pool_slices, devices, unreadable] = slice;
  return std::tie(name, uid, version, node_name, driver, pool, pool_generation, pool_slices, devices, unreadable);
}

template <typename T>
concept Structure = requires(T& object) {
  FieldsOf(object);
};
template <typename T>
concept Number = std::integral<T> || std::is_enum_v<T>;

class Packer {
 public:
  // Writes to `next`, or only counts the bytes if `next` is null.
  explicit Packer(char* next) : next_(next) {}

  // Writes seven bits per byte, lowest bits first. The eighth bit means that more bytes follow.
  template <Number T>
  void Put(const T& number) {
    auto rest = static_cast<std::uint64_t>(number);
    for (; rest >= 0x80; rest >>= 7) Append(static_cast<char>(rest | 0x80));
    Append(static_cast<char>(rest));
  }
  void Put(const std::string& text) {
    Put(text.size());
    Append(text.data(), text.size());
  }
  // Copies the bytes in memory, because the time may be infinite and must not be rounded.
  void Put(const absl::Time& time) {
    static_assert(std::is_trivially_copyable_v<absl::Time>);
    Append(&time, sizeof time);
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    Put(value.has_value());
    if (value) Put(*value);
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    Put(values.size());
    for (const T& value : values) Put(value);
  }
  void Put(const StringMap& map) {
    Put(map.size());
    for (const auto& [key, value] : map) {
      Put(key);
      Put(value);
    }
  }
  template <Structure T>
  void Put(const T& object) {
    std::apply([this](const auto&... fields) { (this->Put(fields), ...); }, FieldsOf(object));
  }

  std::size_t size() const { return size_; }

 private:
  void Append(char byte) { Append(&byte, 1); }
  void Append(const void* bytes, std::size_t count) {
    size_ += count;
    if (next_ == nullptr) return;
    std::memcpy(next_, bytes, count);
    next_ += count;
  }

  char* next_;
  std::size_t size_ = 0;
};

// Reads the bytes that Packer has written.
class Unpacker {
 public:
  explicit Unpacker(const char* bytes) : next_(bytes) {}

  template <Number T>
  void Get(T& number) {
    std::uint64_t value = 0;
    int shift = 0;
    for (; (Byte() & 0x80) != 0; shift += 7, ++next_) value |= (Byte() & 0x7F) << shift;
    number = static_cast<T>(value | Byte() << shift);
    ++next_;
  }
  std::string_view Text() {
    const std::size_t size = Size();
    return {std::exchange(next_, next_ + size), size};
  }
  void Get(std::string& text) { text = Text(); }
  void Get(absl::Time& time) { std::memcpy(&time, std::exchange(next_, next_ + sizeof time), sizeof time); }
  template <typename T>
  void Get(std::optional<T>& value) {
    bool present = false;
    Get(present);
    if (present) Get(value.emplace());
  }
  template <typename T>
  void Get(std::vector<T>& values) {
    values.resize(Size());
    for (T& value : values) Get(value);
  }
  void Get(StringMap& map) {
    for (std::size_t size = Size(); size > 0; --size) {
      const std::string_view key = Text();
      map.emplace_hint(map.end(), key, Text());
    }
  }
  template <Structure T>
  void Get(T& object) {
    std::apply([this](auto&... fields) { (this->Get(fields), ...); }, FieldsOf(object));
  }

 private:
  std::uint64_t Byte() const { return static_cast<unsigned char>(*next_); }
  std::size_t Size() {
    std::size_t size = 0;
    Get(size);
    return size;
  }

  const char* next_;
};

// Processes the object twice, first only to count the bytes, so that one allocation is enough.
template <Structure T>
std::unique_ptr<const char[]> Pack(const T& object) {
  Packer counter(nullptr);
  counter.Put(object);
  auto bytes = std::make_unique_for_overwrite<char[]>(counter.size());
  Packer(bytes.get()).Put(object);
  return bytes;
}

// Returns the pod with this UID, or the position at which such a pod would be inserted.
auto Find(auto& pods, std::string_view uid) {
  return std::lower_bound(pods.begin(), pods.end(), uid,
                          [](const PackedPod& pod, std::string_view sought) { return pod.uid() < sought; });
}

}  // namespace

PackedNode::PackedNode(const Node& node) : bytes_(Pack(node)) {}

Node PackedNode::Unpack(const std::string& name) const {
  Node node{.name = name};
  Unpacker(bytes_.get()).Get(node);
  return node;
}

std::string_view PackedNode::uid() const { return Unpacker(bytes_.get()).Text(); }

std::string_view PackedNode::resource_version() const {
  Unpacker unpacker(bytes_.get());
  unpacker.Text();
  return unpacker.Text();
}

bool PackedNode::unschedulable() const {
  Unpacker unpacker(bytes_.get());
  unpacker.Text();
  unpacker.Text();
  bool unschedulable = false;
  unpacker.Get(unschedulable);
  return unschedulable;
}

PackedPod::PackedPod(const Pod& pod) : bytes_(Pack(pod)) {}

Pod PackedPod::Unpack(const std::string& node_name) const {
  Pod pod{.node_name = node_name};
  Unpacker(bytes_.get()).Get(pod);
  return pod;
}

std::string_view PackedPod::uid() const { return Unpacker(bytes_.get()).Text(); }

std::string_view PackedPod::resource_version() const {
  Unpacker unpacker(bytes_.get());
  unpacker.Text();
  return unpacker.Text();
}

bool PackedPods::Put(const Pod& pod) {
  const auto found = Find(pods_, pod.ref.uid);
  if (found == pods_.end() || found->uid() != pod.ref.uid) {
    pods_.emplace(found, pod);
    return true;
  }
  if (!IsNewerVersion(pod.resource_version, found->resource_version())) return false;
  *found = PackedPod(pod);
  return true;
}

bool PackedPods::Erase(std::string_view uid) {
  const auto found = Find(pods_, uid);
  if (found == pods_.end() || found->uid() != uid) return false;
  pods_.erase(found);
  return true;
}

std::vector<Pod> PackedPods::Unpack(const std::string& node_name) const {
  std::vector<Pod> pods;
  pods.reserve(pods_.size());
  for (const PackedPod& pod : pods_) pods.push_back(pod.Unpack(node_name));
  return pods;
}

template <typename T>
PackedObject<T>::PackedObject(const T& object) : bytes_(Pack(object)) {}

template <typename T>
T PackedObject<T>::Unpack() const {
  T object;
  Unpacker(bytes_.get()).Get(object);
  return object;
}

template <typename T>
QualifiedName PackedObject<T>::name() const {
  Unpacker unpacker(bytes_.get());
  const std::string_view first = unpacker.Text();
  if constexpr (std::same_as<T, ResourceClaim>) return {first, unpacker.Text()};
  return {{}, first};
}

template class PackedObject<DeviceTaintRule>;
template class PackedObject<ResourceClaim>;
template class PackedObject<ResourceSlice>;

}  // namespace driverupgrade::internal
