package host

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Time for which passes continue although a watch keeps failing. Native engines use the same time.
const staleMax = time.Minute

// health records since when a source has been failing. Until the source works again, its objects may be outdated.
type health struct {
	clock  clock.PassiveClock
	mended func() // called when a failure ends
	// True if passes do not depend on the first list. Failures before this list do not count.
	optional bool

	mu     sync.Mutex
	listed bool
	since  time.Time // zero if the last attempt succeeded
	reason error
}

// fails is called when an attempt to list or to watch fails, or if the engine refuses a change.
func (s *health) fails(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.optional && !s.listed {
		return
	}
	if s.reason = reason; s.since.IsZero() {
		s.since = s.clock.Now()
	}
}

// lists is called when a list has succeeded.
func (s *health) lists() {
	s.mu.Lock()
	s.listed = true
	s.mu.Unlock()
	s.works()
}

// isNotServed is called if the cluster does not serve the kind of an optional source. As before the first list, passes
// then do not depend on the source.
func (s *health) isNotServed() {
	s.mu.Lock()
	s.listed = false
	s.mu.Unlock()
	s.works()
}

// works is called when a list has succeeded, or a watch has resumed.
func (s *health) works() {
	s.mu.Lock()
	mended := !s.since.IsZero()
	s.since, s.reason = time.Time{}, nil
	s.mu.Unlock()
	if mended {
		s.mended()
	}
}

// due returns the time at which the failure has lasted for staleMax; zero if the source works.
func (s *health) due() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return time.Time{}
	}
	return s.since.Add(staleMax)
}

// stale returns an error if the source has been failing for staleMax.
func (s *health) stale(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || now.Before(s.since.Add(staleMax)) {
		return nil
	}
	return fmt.Errorf("the objects may be outdated since %s: %w", s.since.UTC().Format(time.RFC3339), s.reason)
}

// healths returns the health of all sources. It is used by the goroutine that runs the rounds.
func (h *Host) healths() []*health {
	all := slices.Clip(h.sources)
	for _, follower := range h.followers {
		if follower.own != nil {
			all = append(all, follower.own.health)
		}
	}
	if h.allPods != nil {
		all = append(all, h.allPods.health)
	}
	return all
}

// stale returns an error if passes must not use the objects, because a source has been failing for too long. It logs
// the start and the end of this time.
func (h *Host) stale(now time.Time) error {
	var stale error
	for _, one := range h.healths() {
		if stale = one.stale(now); stale != nil {
			break
		}
	}
	h.mu.Lock()
	before := h.outdated
	h.outdated = stale
	h.mu.Unlock()
	switch {
	case stale != nil && before == nil:
		h.log.Error(stale, "no node is upgraded until the watches work again")
	case stale == nil && before != nil:
		h.log.Info("the watches work again; the upgrades continue")
	}
	return stale
}
