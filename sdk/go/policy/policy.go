package policy

import (
	"log/slog"
	"time"
)

// Policy judges one Machine at a time. The same arguments give the same answer.
type Policy interface {
	// Describe describes the policy. Must not fail.
	Describe() About
	// CheckSettings checks the operator's settings: a JSON object, `{}` if there are none. Must accept all settings with
	// which Evaluate can work.
	CheckSettings(settings string) error
	// Evaluate judges a Machine. The settings are those that CheckSettings accepted. The log is the host's.
	Evaluate(question Question, settings string, now time.Time, log *slog.Logger) (Verdict, error)
}
