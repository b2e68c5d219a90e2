package policy

import (
	"log/slog"
	"time"
)

// Policy says what it thinks of one Machine at a time. The same arguments give the same answer.
type Policy interface {
	// Describe says who this is. Must not fail.
	Describe() About
	// CheckSettings checks what the operator wrote: a JSON object, `{}` when there is nothing. Must accept all settings that
	// Evaluate can work with.
	CheckSettings(settings string) error
	// Evaluate says what to think of this Machine. The settings are those that CheckSettings accepted. The log is the host's.
	Evaluate(question Question, settings string, now time.Time, log *slog.Logger) (Verdict, error)
}
