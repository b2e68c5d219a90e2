// Package policytest has a mock host for policies, and a healthy Machine for tests to change.
package policytest

import (
	"log/slog"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/internal/logging"
	"github.com/machinist-dev/machinist/sdk/go/internal/policycalls"
	"github.com/machinist-dev/machinist/sdk/go/policy"
)

// Now is the time of the questions.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Line is a line of the log.
type Line struct {
	Level   slog.Level
	Message string
	Fields  map[string]string
}

// Host hosts the calls of a policy, as a component does, and keeps its log.
type Host struct {
	Lines []Line
	calls policycalls.Calls
}

// New hosts this policy.
func New(served policy.Policy) *Host {
	host := &Host{}
	host.calls = policycalls.Calls{Policy: served, Log: logging.New(sink{host})}
	return host
}

// Describe returns the policy's description.
func (host *Host) Describe() policy.About { return host.calls.Describe() }

// CheckSettings returns the error of the settings.
func (host *Host) CheckSettings(settings string) error { return host.calls.CheckSettings(settings) }

// Evaluate calls the policy. A policy that breaks answers unknown.
func (host *Host) Evaluate(question policy.Question, settings string, now time.Time) policy.Verdict {
	return host.calls.Evaluate(question, settings, now)
}

type sink struct{ host *Host }

func (sink) Enabled(logging.Level) bool { return true }

func (of sink) Emit(level logging.Level, message string, fields []logging.Field) {
	line := Line{logging.SlogOf(level), message, map[string]string{}}
	for _, field := range fields {
		line.Fields[field.Name] = field.Value
	}
	of.host.Lines = append(of.host.Lines, line)
}

// Condition has its status since this time.
func Condition(kind string, status policy.Status, since time.Time) policy.Condition {
	return policy.Condition{Kind: kind, Status: status, Reason: "Test", Since: since}
}

// Question is about a Running Machine with a healthy Node, alone in its zone.
func Question() policy.Question {
	created := Now.Add(-24 * time.Hour)
	return policy.Question{
		Machine: policy.Machine{
			Namespace:     "shoot",
			Name:          "machine-1",
			UID:           "uid-1",
			Class:         "small",
			ProviderID:    "cloud:///vm-1",
			Created:       created,
			HealthTimeout: 10 * time.Minute,
			MustBeFalse:   []string{"DiskPressure"},
			CanReboot:     true,
		},
		Node: &policy.Node{
			Name:       "node-1",
			Created:    created,
			Conditions: []policy.Condition{Condition(policy.Ready, policy.StatusTrue, created)},
		},
		History: policy.History{Phase: policy.PhaseRunning, PhaseSince: created},
		Domain:  policy.Domain{Name: "zone-a", Machines: 1},
	}
}
