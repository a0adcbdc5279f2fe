package upgrade

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/host"
)

// The metrics of a Collector. Native operators export the same metrics (docs/monitoring.md).
var (
	nodesMetric = prometheus.NewDesc("driverupgrade_nodes",
		"Number of nodes with a driver pod, a state label or our cordon, by state; `unknown` means no state.", []string{"driver", "state"}, nil)
	blockedMetric = prometheus.NewDesc("driverupgrade_nodes_blocked",
		"Number of waiting nodes by reason.", []string{"driver", "reason"}, nil)
	findingsMetric = prometheus.NewDesc("driverupgrade_findings", "Number of findings by code.", []string{"driver", "code"}, nil)
	leaderMetric   = prometheus.NewDesc("driverupgrade_leader",
		"1 if this replica is the leader, otherwise 0.", []string{"driver"}, nil)
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

// gauges are the metrics with one value for each driver. value returns false if the driver has no such value.
var gauges = []gauge{
	gaugeOf("driverupgrade_last_progress_timestamp_seconds", "Unix time at which a node last entered a state.",
		func(of figures) (float64, bool) { return of.progress, true }),
	gaugeOf("driverupgrade_auto_upgrade", "1 if the policy allows driver upgrades, otherwise 0.",
		func(of figures) (float64, bool) { return number(of.autoUpgrade), true }),
	gaugeOf("driverupgrade_paused", "1 if the policy is paused, otherwise 0.",
		func(of figures) (float64, bool) { return number(of.paused), true }),
	gaugeOf("driverupgrade_rollout_stage", "Index of the open stage of the rollout, counted from 0.",
		func(of figures) (float64, bool) {
			return float64(stageOf(of.rollout)), stageOf(of.rollout) >= 0
		}),
	gaugeOf("driverupgrade_rollout_halted", "1 if the rollout is halted, otherwise 0.",
		func(of figures) (float64, bool) {
			return number(of.rollout != nil && of.rollout.Halted != nil), of.rollout != nil
		}),
	gaugeOf("driverupgrade_rollout_window_open", "1 if the windows of the rollout allow nodes to start, otherwise 0.",
		func(of figures) (float64, bool) {
			return number(of.rollout != nil && of.rollout.Closed == nil), of.rollout != nil
		}),
	gaugeOf("driverupgrade_rollout_gangs", "Number of gangs with pods on waiting nodes.",
		ofGangs(func(gangs RolloutGangs) int { return gangs.Gangs })),
	gaugeOf("driverupgrade_rollout_gang_interruptions_planned", "Number of gang interruptions that are still to come.",
		ofGangs(func(gangs RolloutGangs) int { return gangs.Interruptions })),
	gaugeOf("driverupgrade_rollout_gang_units", "Number of units: groups of waiting nodes that start together.",
		ofGangs(func(gangs RolloutGangs) int { return gangs.Units })),
	gaugeOf("driverupgrade_rollout_gangs_interrupted", "Number of gangs that this rollout has interrupted.",
		ofGangs(func(gangs RolloutGangs) int { return gangs.Interrupted })),
	gaugeOf("driverupgrade_rollout_gang_interruptions", "Number of gang interruptions that this rollout has caused.",
		ofGangs(func(gangs RolloutGangs) int { return gangs.Caused })),
}

type gauge struct {
	metric *prometheus.Desc
	value  func(figures) (float64, bool)
}

func gaugeOf(name, help string, value func(figures) (float64, bool)) gauge {
	return gauge{prometheus.NewDesc(name, help, []string{"driver"}, nil), value}
}

func ofGangs(count func(RolloutGangs) int) func(figures) (float64, bool) {
	return func(of figures) (float64, bool) {
		if of.rollout == nil || of.rollout.Gangs == nil {
			return 0, false
		}
		return float64(count(*of.rollout.Gangs)), true
	}
}

func number(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// stageOf returns the index of the open stage, or -1 if no stage is open.
func stageOf(rollout *engine.Rollout) int {
	if rollout == nil {
		return -1
	}
	return slices.IndexFunc(rollout.Stages, func(stage RolloutStage) bool { return stage.Name == rollout.Stage })
}

// isBehind reports whether the metrics describe rollout a instead of b: a halted rollout comes first, and then the
// rollout with the least progress.
func isBehind(a, b *engine.Rollout) bool {
	if b == nil || (a.Halted != nil) != (b.Halted != nil) {
		return b == nil || a.Halted != nil
	}
	return stageOf(a) < stageOf(b)
}

// figures are the numbers of a driver, which may have several selections of pods.
type figures struct {
	states, waiting, findings map[string]int
	slots, unavailable        int
	inProgress, devices       int
	lateHolders, podsKept     int64
	progress                  float64
	autoUpgrade, paused       bool
	rollout                   *engine.Rollout
}

// allStates are reported for every driver, so that a state without nodes has the value zero.
var allStates = []string{UpgradeStateUnknown, UpgradeStateUpgradeRequired, UpgradeStateCordonRequired,
	UpgradeStateWaitForJobsRequired, UpgradeStatePodDeletionRequired, UpgradeStateDrainRequired,
	UpgradeStateNodeMaintenanceRequired, UpgradeStatePostMaintenanceRequired, UpgradeStatePodRestartRequired,
	UpgradeStateValidationRequired, UpgradeStateUncordonRequired, UpgradeStateDone, UpgradeStateFailed}

type collector struct{ manager *Manager }

// Collector returns a prometheus.Collector for all drivers for which BuildState was called. It reports nodes by state,
// waiting nodes by reason, findings, budgets, the rollout, and the effects of device isolation. It also reports whether
// this replica leads (WithElected), even before the first BuildState.
//
// Register the Collector with controller-runtime: metrics.Registry.MustRegister(manager.Collector()). It sends no
// requests. Several Managers can register their Collectors with one registry, provided that their drivers differ. If two
// Managers of one driver report to the same registry, its Gather returns an error because of duplicate metrics.
//
// A registry cannot unregister the Collector. To replace a Manager, close it before the next Gather: after Close, its
// Collector reports nothing.
func (m *Manager) Collector() prometheus.Collector { return collector{m} }

// Describe implements prometheus.Collector. It sends nothing, because a registry would otherwise refuse the Collector of
// a second Manager, which has the same metrics for another driver.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	drivers := map[string]*figures{}
	for _, one := range c.manager.allHosts() {
		found, err := one.Everything()
		if err != nil {
			continue // the host is closed
		}
		driver := one.Driver().String()
		of := drivers[driver]
		if of == nil {
			of = &figures{states: map[string]int{}, waiting: map[string]int{}, findings: map[string]int{}}
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
		of.progress = max(of.progress, float64(one.Progress().UnixMilli())/1000)
		orders := one.Orders()
		of.autoUpgrade, of.paused = of.autoUpgrade || orders.AutoUpgrade, of.paused || orders.Paused
		for code, findings := range orders.Findings {
			of.findings[code] += findings
		}
		for _, part := range found.Parts {
			if part.Rollout != nil && isBehind(part.Rollout, of.rollout) {
				of.rollout = part.Rollout
			}
		}
	}
	gauge := func(metric *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(metric, prometheus.GaugeValue, float64(value), labels...)
	}
	if own := c.manager.Keys(); own.Driver != "" && !c.manager.isRetired() {
		out <- prometheus.MustNewConstMetric(leaderMetric, prometheus.GaugeValue, number(c.manager.leads()), host.Identity(own).String())
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
		for code, findings := range of.findings {
			gauge(findingsMetric, findings, driver, code)
		}
		for _, one := range gauges {
			if value, has := one.value(*of); has {
				out <- prometheus.MustNewConstMetric(one.metric, prometheus.GaugeValue, value, driver)
			}
		}
		gauge(slotsMetric, of.slots, driver, "used")
		gauge(unavailableMetric, of.unavailable, driver, "used")
		gauge(isolatedMetric, of.inProgress-of.devices, driver, "Node")
		gauge(isolatedMetric, of.devices, driver, "Devices")
		out <- prometheus.MustNewConstMetric(lateHoldersMetric, prometheus.CounterValue, float64(of.lateHolders), driver)
		out <- prometheus.MustNewConstMetric(podsKeptMetric, prometheus.CounterValue, float64(of.podsKept), driver)
	}
}

// leads reports whether this replica leads.
func (m *Manager) leads() bool {
	if m.elected == nil {
		return true
	}
	select {
	case <-m.elected:
		return true
	default:
		return false
	}
}
