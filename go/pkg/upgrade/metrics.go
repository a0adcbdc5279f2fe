package upgrade

import (
	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of a Collector. Native operators export the same metrics (docs/monitoring.md).
var (
	nodesMetric = prometheus.NewDesc("driverupgrade_nodes",
		"Number of nodes with a driver pod or a state label, by state; `unknown` means no state.", []string{"driver", "state"}, nil)
	blockedMetric = prometheus.NewDesc("driverupgrade_nodes_blocked",
		"Number of waiting nodes by reason.", []string{"driver", "reason"}, nil)
	slotsMetric = prometheus.NewDesc("driverupgrade_budget_slots",
		"Number of nodes that count against maxParallelUpgrades.", []string{"driver", "kind"}, nil)
	unavailableMetric = prometheus.NewDesc("driverupgrade_budget_unavailable",
		"Number of nodes that count against maxUnavailable.", []string{"driver", "kind"}, nil)
	isolatedMetric = prometheus.NewDesc("driverupgrade_nodes_isolated",
		"Number of nodes in progress by scope of the isolation: the whole node or only its devices.", []string{"driver", "scope"}, nil)
	lateHoldersMetric = prometheus.NewDesc("driverupgrade_late_holders_total",
		"Total number of pods evicted because they were given a device after it had been tainted.", []string{"driver"}, nil)
	podsKeptMetric = prometheus.NewDesc("driverupgrade_pods_kept_total",
		"Total number of pods that kept running while the driver of their node was replaced.", []string{"driver"}, nil)
)

// allStates are reported for every driver, so that a state without nodes has the value zero.
var allStates = []string{UpgradeStateUnknown, UpgradeStateUpgradeRequired, UpgradeStateCordonRequired,
	UpgradeStateWaitForJobsRequired, UpgradeStatePodDeletionRequired, UpgradeStateDrainRequired,
	UpgradeStateNodeMaintenanceRequired, UpgradeStatePostMaintenanceRequired, UpgradeStatePodRestartRequired,
	UpgradeStateValidationRequired, UpgradeStateUncordonRequired, UpgradeStateDone, UpgradeStateFailed}

type collector struct{ manager *Manager }

// Collector returns a prometheus.Collector that reports, for each driver for which BuildState was called: nodes by
// state, waiting nodes by reason, budgets, and the effects of device isolation.
//
// Register the Collector with controller-runtime: metrics.Registry.MustRegister(manager.Collector()). It sends no
// requests.
func (m *Manager) Collector() prometheus.Collector { return collector{m} }

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, metric := range []*prometheus.Desc{nodesMetric, blockedMetric, slotsMetric, unavailableMetric, isolatedMetric,
		lateHoldersMetric, podsKeptMetric} {
		out <- metric
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	type figures struct {
		states, waiting       map[string]int
		slots, unavailable    int
		inProgress, devices   int
		lateHolders, podsKept int64
	}
	drivers := map[string]*figures{} // a driver may have several selections of pods
	for _, one := range c.manager.allHosts() {
		found, err := one.Everything()
		if err != nil {
			continue // the host is closed
		}
		driver := one.Driver().String()
		of := drivers[driver]
		if of == nil {
			of = &figures{states: map[string]int{}, waiting: map[string]int{}}
			drivers[driver] = of
		}
		for state, nodes := range one.States() {
			of.states[state] += nodes
		}
		for _, gate := range found.Gates {
			of.waiting[gate.Reason]++
		}
		of.slots += found.Totals.Slots
		of.unavailable += found.Totals.Unavailable
		of.inProgress += found.Totals.InProgress
		of.devices += found.Totals.DevicesIsolated
		lateHolders, podsKept := one.PodCounts()
		of.lateHolders += lateHolders
		of.podsKept += podsKept
	}
	gauge := func(metric *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(metric, prometheus.GaugeValue, float64(value), labels...)
	}
	for driver, of := range drivers {
		for _, state := range allStates {
			name := state
			if name == UpgradeStateUnknown {
				name = "unknown"
			}
			gauge(nodesMetric, of.states[state], driver, name)
			delete(of.states, state)
		}
		invalid := 0
		for _, nodes := range of.states {
			invalid += nodes
		}
		gauge(nodesMetric, invalid, driver, "invalid")
		for reason, nodes := range of.waiting {
			gauge(blockedMetric, nodes, driver, reason)
		}
		gauge(slotsMetric, of.slots, driver, "used")
		gauge(unavailableMetric, of.unavailable, driver, "used")
		gauge(isolatedMetric, of.inProgress-of.devices, driver, "Node")
		gauge(isolatedMetric, of.devices, driver, "Devices")
		out <- prometheus.MustNewConstMetric(lateHoldersMetric, prometheus.CounterValue, float64(of.lateHolders), driver)
		out <- prometheus.MustNewConstMetric(podsKeptMetric, prometheus.CounterValue, float64(of.podsKept), driver)
	}
}
