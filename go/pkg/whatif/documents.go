package whatif

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"driverupgrade.example/go/internal/timezones"
)

// document is a request to the C interface.
type document struct {
	Identity struct {
		Domain string `json:"domain"`
		Driver string `json:"driver"`
	} `json:"identity"`
	Namespace          string           `json:"namespace"`
	DriverLabels       string           `json:"driverLabels"`
	Policy             json.RawMessage  `json:"policy,omitempty"`
	PolicyDefaults     string           `json:"policyDefaults,omitempty"`
	At                 string           `json:"at"`
	ActiveSince        string           `json:"activeSince,omitempty"`
	ValidationSelector string           `json:"validationSelector,omitempty"`
	EarlyValidation    string           `json:"earlyValidation,omitempty"`
	UsesDriverUIDs     *[]string        `json:"usesDriverUids,omitempty"`
	RestartOnly        []revisionPair   `json:"restartOnly,omitempty"`
	Requestor          *requestor       `json:"requestor,omitempty"`
	SpareSkippedPods   bool             `json:"spareSkippedPods"`
	TimeZones          []timezones.Zone `json:"timeZones,omitempty"`

	Policies  []namedPolicy  `json:"policies,omitempty"`
	Seeds     int            `json:"seeds,omitempty"`
	Durations map[string]int `json:"durations,omitempty"`
}

type requestor struct {
	Requestor
	Enabled bool `json:"enabled"`
}

type namedPolicy struct {
	Name   string          `json:"name"`
	Policy json.RawMessage `json:"policy"`
}

// documentOf returns the document of a request about a cluster. `trials` is nil unless the request is for a simulation.
func documentOf(request Request, trials *Trials, cluster []byte) ([]byte, error) {
	at := request.At
	if at.IsZero() {
		at = time.Now()
	}
	made := document{
		Namespace:          request.Namespace,
		DriverLabels:       request.DriverLabels,
		PolicyDefaults:     request.PolicyDefaults,
		At:                 at.UTC().Format(time.RFC3339Nano),
		ValidationSelector: request.ValidationSelector,
		EarlyValidation:    request.EarlyValidation,
		SpareSkippedPods:   !request.EvictSkipped,
	}
	made.Identity.Domain, made.Identity.Driver = request.Domain, request.Driver
	if of := request.Requestor; of != nil {
		made.Requestor = &requestor{*of, !of.Off}
	}
	if !request.ActiveSince.IsZero() {
		made.ActiveSince = request.ActiveSince.UTC().Format(time.RFC3339Nano)
	}
	if request.UsesDriver != nil {
		made.UsesDriverUIDs = &request.UsesDriver
	}
	var err error
	if made.RestartOnly, err = restartOnlyPairs(request, cluster); err != nil {
		return nil, err
	}
	zones := map[string]timezones.Zone{}
	if trials == nil || len(trials.Policies) == 0 {
		if made.Policy, err = policyOf(request.Policy, at, zones); err != nil {
			return nil, err
		}
	}
	if trials != nil {
		if made.Policies, err = policiesOf(trials.Policies, at, zones); err != nil {
			return nil, err
		}
		made.Seeds = trials.Seeds
		made.Durations = trials.Durations.members()
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		made.TimeZones = append(made.TimeZones, zones[name])
	}
	return json.Marshal(made)
}

func policiesOf(policies []Policy, at time.Time, zones map[string]timezones.Zone) (named []namedPolicy, err error) {
	for _, policy := range policies {
		text, err := policyOf(policy.Text, at, zones)
		if err != nil {
			return nil, err
		}
		named = append(named, namedPolicy{Name: policy.Name, Policy: text})
	}
	return named, nil
}

func (d Durations) members() map[string]int {
	members := map[string]int{}
	for name, duration := range map[string]*time.Duration{
		"driverStartSeconds": d.DriverStart,
		"driverStopSeconds":  d.DriverStop,
		"podStartSeconds":    d.PodStart,
		"podStopSeconds":     d.PodStop,
		"validationSeconds":  d.Validation,
	} {
		if duration != nil {
			members[name] = int(*duration / time.Second)
		}
	}
	if d.JitterPercent != nil {
		members["jitterPercent"] = *d.JitterPercent
	}
	return members
}
