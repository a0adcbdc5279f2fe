// Tests when a WatchStore wakes the engines that share it.
#include "read/watch_store.h"

#include <array>

#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

/// A store without nodes and with two drivers, both of which have already taken their changes.
struct Store : WatchStore {
  Store() : WatchStore(2) {
    Change([](ObjectStore& store) { store.NodesListed({}, "1"); });
    Take(0);
    Take(1);
  }
  void ChangeNode(std::string version) {
    const Node node{.name = "n1", .uid = "n1-uid", .resource_version = std::move(version)};
    Change([&](ObjectStore& store) { store.NodeChanged(node); });
  }
};

TEST_CASE("Only the first change after the last Take wakes a subscriber") {
  Store store;
  int woken = 0;
  store.Subscribe(0, [&] { ++woken; });
  store.ChangeNode("3");
  store.ChangeNode("4");
  CHECK(woken == 1);
  store.Take(0);
  store.ChangeNode("5");
  CHECK(woken == 2);
  store.Subscribe(0, nullptr);
  store.Take(0);
  store.ChangeNode("6");
  CHECK(woken == 2);
}

TEST_CASE("A change that affects several drivers wakes every subscriber") {
  Store store;
  std::array<int, 2> woken = {};
  store.Subscribe(0, [&] { ++woken[0]; });
  store.Subscribe(1, [&] { ++woken[1]; });
  store.ChangeNode("3");
  CHECK(woken == std::array{1, 1});
}

TEST_CASE("A subscriber is woken while no lock is held, and only by changes that it can accept") {
  Store store;
  int woken = 0;
  store.Subscribe(0, [&] {
    ++woken;
    CHECK(store.Read([](const ObjectStore& objects) { return objects.FindNode("n1").has_value(); }));
  });
  store.ChangeNode("3");
  store.Take(0);
  store.ChangeNode("3");
  CHECK(woken == 1);
}

TEST_CASE("An engine that takes over receives the complete state, and is not woken before its first Take") {
  Store store;
  int woken = 0;
  store.Subscribe(0, [&] { ++woken; });
  store.Attach(0);
  store.ChangeNode("3");
  CHECK(woken == 0);
  CHECK(store.Take(0).everything);
  store.ChangeNode("4");
  CHECK(woken == 1);
  store.WakeAll();
  CHECK(woken == 2);
}

}  // namespace
}  // namespace driverupgrade::internal
