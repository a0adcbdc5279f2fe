package upgrade

import (
	"maps"
	"slices"
	"time"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/host"
)

// Gate is the reason why a node waits; docs/policy.md lists the reasons.
type Gate struct {
	Node, State, Reason, Detail string
	NotBefore                   time.Time // zero if the gate does not depend on the time
	FailsAt                     time.Time // time at which the node fails if it is still waiting; zero: never
	Subject                     GateSubject
	Count                       *GateCount // nil: the gate has no limit and no stage
}

// GateSubject is the subject of a gate: a Kubernetes object (Pod, NodeMaintenance), or a Driver, Approval, Stage or
// Group. The zero value means that the gate has no subject.
type GateSubject = engine.GateSubject

// GateCount reports how much of a limit is used or, for a stage, how many of its nodes have finished.
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

// Explain returns the gate of a node, or false if the node is not waiting or is unknown. If several selections of
// driver pods have a gate for the node, Explain returns the gate of the first selection, ordered by driver, namespace
// and labels.
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

// Stats contains numbers that an operator can publish in addition to the counters.
type Stats struct {
	Total, Pending, InProgress, Failed, Done, NotReady, Slots, Unavailable int
	// Number of nodes in progress of which only the devices are isolated (isolation.scope), not the whole node.
	DevicesIsolated int
	// Number of waiting nodes by reason.
	Waiting map[string]int
	// Number of requests sent for upgrades, by verb, excluding watches.
	Requests map[string]int64
}

// Stats returns the numbers of the last passes, summed over all of this Manager's drivers.
func (m *Manager) Stats() Stats { return m.statsOf(m.parts()) }

// StatsOf returns the numbers of the last passes for the parts of an owner (PartOf). Requests still covers all owners.
func (m *Manager) StatsOf(owner string) Stats { return m.statsOf(m.partsOf(owner)) }

func (m *Manager) statsOf(parts []engine.OwnedPart) Stats {
	stats := Stats{Waiting: map[string]int{}, Requests: m.connection.Sent()}
	for _, part := range parts {
		stats.Total += part.Totals.Total
		stats.Pending += part.Totals.Pending
		stats.InProgress += part.Totals.InProgress
		stats.Failed += part.Totals.Failed
		stats.Done += part.Totals.Done
		stats.NotReady += part.Totals.NotReady
		stats.Slots += part.Totals.Slots
		stats.Unavailable += part.Totals.Unavailable
		stats.DevicesIsolated += part.Totals.DevicesIsolated
		for reason, nodes := range part.Waiting {
			stats.Waiting[reason] += nodes
		}
	}
	return stats
}

// parts returns the parts of all drivers. A host whose engine has ended has no parts.
func (m *Manager) parts() []engine.OwnedPart {
	var all []engine.OwnedPart
	for _, one := range m.allHosts() {
		if found, err := one.Everything(); err == nil {
			all = append(all, found.Parts...)
		}
	}
	return all
}

func (m *Manager) partsOf(owner string) []engine.OwnedPart {
	return slices.DeleteFunc(m.parts(), func(part engine.OwnedPart) bool { return part.Owner != owner })
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
