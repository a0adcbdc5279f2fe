// What the demo shows: a live table on a terminal, lines otherwise.
#ifndef DRIVERUPGRADE_EXAMPLES_DEMO_TABLE_H_
#define DRIVERUPGRADE_EXAMPLES_DEMO_TABLE_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/testing/fake_cluster.h"

namespace demo {

/// One row of the table.
struct Row {
  std::string state = {};
  bool schedulable = true;
  std::string driver = {};
  int workload_pods = 0;
  std::string gate = {};
  friend bool operator==(const Row&, const Row&) = default;
};

/// The nodes as the cluster has them, with what `plan` says they wait for.
std::map<std::string, Row> ReadRows(const driverupgrade::testing::FakeCluster& cluster,
                                    const driverupgrade::DriverIdentity& identity, const driverupgrade::Plan& plan);

class Table {
 public:
  /// `live`: redraws the table in place; otherwise prints one line for each row that has changed.
  explicit Table(bool live) : live_(live) {}
  void Show(absl::Duration elapsed, const std::map<std::string, Row>& rows);

 private:
  void Draw(absl::Duration elapsed, const std::map<std::string, Row>& rows);
  void PrintChanges(absl::Duration elapsed, const std::map<std::string, Row>& rows);

  const bool live_;
  int lines_drawn_ = 0;
  std::map<std::string, Row> shown_;
};

}  // namespace demo

#endif  // DRIVERUPGRADE_EXAMPLES_DEMO_TABLE_H_
