package upgrade

import (
	"maps"
	"slices"
	"time"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/host"
)

// Gate is why a node waits: docs/policy.md has the reasons.
type Gate struct {
	Node, State, Reason, Detail string
	NotBefore                   time.Time // zero: not for a time
	FailsAt                     time.Time // the node fails then if it still waits; zero: it does not fail of this wait
	Subject                     GateSubject
	Count                       *GateCount // nil: the gate is about no limit and no stage
}

// GateSubject is what a gate is about: an object of Kubernetes (Pod, NodeMaintenance), or a Driver, Approval, Stage or Group. Its zero
// value stands for nothing.
type GateSubject = engine.GateSubject

// GateCount is how much of a limit is used; for a stage, how many of its nodes have ended.
type GateCount = engine.GateCount

func gateOf(gate engine.Gate) Gate {
	made := Gate{Node: gate.Node, State: gate.State, Reason: gate.Reason, Detail: gate.Detail, Subject: gate.Subject, Count: gate.Count}
	if gate.FailsAt != nil {
		made.FailsAt = time.UnixMilli(*gate.FailsAt)
	}
	if gate.NotBefore != nil {
		made.NotBefore = time.UnixMilli(*gate.NotBefore)
	}
	return made
}

// Explain says why a node waits; false: it does not, or is not known. Where several selections of driver pods have the node, the first
// by driver, namespace and labels tells.
func (m *Manager) Explain(node string) (Gate, bool) {
	for _, one := range m.allHosts() {
		gate, err := one.Explain(node)
		if err == nil && gate != nil {
			found := gateOf(*gate)
			found.Node = node
			return found, true
		}
	}
	return Gate{}, false
}

// Stats is what an operator publishes beyond the counters.
type Stats struct {
	Total, Pending, InProgress, Failed, Done, NotReady, Slots, Unavailable int
	// Waiting nodes by the reason.
	Waiting map[string]int
	// Requests that were sent for upgrades, by verb; watches are not among them.
	Requests map[string]int64
}

// Stats is of the last passes, of all drivers of this Manager together.
func (m *Manager) Stats() Stats {
	stats := Stats{Waiting: map[string]int{}, Requests: m.connection.Sent()}
	for _, one := range m.allHosts() {
		found, err := one.Everything()
		if err != nil {
			continue // it is closed
		}
		stats.Total += found.Totals.Total
		stats.Pending += found.Totals.Pending
		stats.InProgress += found.Totals.InProgress
		stats.Failed += found.Totals.Failed
		stats.Done += found.Totals.Done
		stats.NotReady += found.Totals.NotReady
		stats.Slots += found.Totals.Slots
		stats.Unavailable += found.Totals.Unavailable
		for _, gate := range found.Gates {
			stats.Waiting[gate.Reason]++
		}
	}
	return stats
}

func (m *Manager) allHosts() []*host.Host {
	m.mu.Lock()
	defer m.mu.Unlock()
	hosts := make([]*host.Host, 0, len(m.hosts))
	for _, selection := range slices.Sorted(maps.Keys(m.hosts)) {
		hosts = append(hosts, m.hosts[selection])
	}
	return hosts
}
