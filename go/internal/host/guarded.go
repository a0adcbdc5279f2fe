package host

import (
	"encoding/json"
	"errors"
	"time"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/timezones"
)

// guarded wraps an engine, and calls defect whenever a call fails because of a defect in the engine.
type guarded struct {
	engine.Engine
	defect func(error)
}

func hasCode(err error, code int) bool {
	var failed *engine.Error
	return errors.As(err, &failed) && failed.Code == code
}

func isDefect(err error) bool { return hasCode(err, engine.CodeDefect) }

func (g guarded) checked(err error) error {
	if isDefect(err) {
		g.defect(err)
	}
	return err
}

func (g guarded) Put(kind engine.Kind, list []byte) error { return g.checked(g.Engine.Put(kind, list)) }

func (g guarded) WatchLine(kind engine.Kind, line []byte) error {
	return g.checked(g.Engine.WatchLine(kind, line))
}

func (g guarded) PutPods(node string, list []byte, uses engine.UsesDriver) (bool, error) {
	taken, err := g.Engine.PutPods(node, list, uses)
	return taken, g.checked(err)
}

func (g guarded) Read(now time.Time) (engine.Reading, error) {
	reading, err := g.Engine.Read(now)
	return reading, g.checked(err)
}

func (g guarded) Tell(answers []engine.Answer) error { return g.checked(g.Engine.Tell(answers)) }

func (g guarded) PutTimeZone(zone timezones.Zone) error {
	return g.checked(g.Engine.PutTimeZone(zone))
}

func (g guarded) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	pass, err := g.Engine.Apply(nodes, policy, now)
	return pass, g.checked(err)
}

func (g guarded) Release(nodes []byte, now time.Time) (engine.Pass, error) {
	pass, err := g.Engine.Release(nodes, now)
	return pass, g.checked(err)
}

func (g guarded) Next(node string, now time.Time) (engine.Request, error) {
	request, err := g.Engine.Next(node, now)
	return request, g.checked(err)
}

func (g guarded) Answer(node string, status int, retryAfter time.Duration, body []byte, now time.Time) (bool, error) {
	more, err := g.Engine.Answer(node, status, retryAfter, body, now)
	return more, g.checked(err)
}

func (g guarded) Settle(now time.Time) (engine.Settled, error) {
	settled, err := g.Engine.Settle(now)
	return settled, g.checked(err)
}

func (g guarded) Explain(node string) (engine.Explanation, error) {
	explanation, err := g.Engine.Explain(node)
	return explanation, g.checked(err)
}

func (g guarded) Everything() (engine.Pass, error) {
	found, err := g.Engine.Everything()
	return found, g.checked(err)
}

func (g guarded) Rollout(facts engine.RolloutFacts, now time.Time) (json.RawMessage, error) {
	document, err := g.Engine.Rollout(facts, now)
	return document, g.checked(err)
}
