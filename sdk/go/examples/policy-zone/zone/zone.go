// Package zone is a health policy that answers unknown while a whole failure domain is silent.
//
// Then the zone, its network, or the API server's view of the Machines is broken, and replacing the Machines would make
// it worse. The default rule judges Machines of other domains.
package zone

import (
	_ "embed"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/policy"
)

//go:embed settings-schema.json
var schema string

// The operator's settings.
type settings struct {
	// The share of silent Machines from which a domain is silent.
	silentPercent uint64
	// Smaller domains never count as silent: one of two is half of them.
	leastMachines uint64
	// The time until the next check of a silent domain.
	recheck time.Duration
}

func read(source string) (settings, error) {
	fields := policy.ReadSettings(source)
	read := settings{
		silentPercent: uint64(fields.Whole("silentPercent", 50, 1, 100)),
		leastMachines: uint64(fields.Whole("leastMachines", 3, 2, math.MaxUint32)),
		recheck:       time.Duration(fields.Whole("recheckSeconds", 30, 1, 3_600)) * time.Second,
	}
	return read, fields.Done()
}

// Policy answers unknown in silent domains.
type Policy struct {
	// Version is the version of the build.
	Version string
}

// Describe describes the policy.
func (served Policy) Describe() policy.About {
	return policy.About{Name: "zone", Version: served.Version, SettingsSchema: schema}
}

// CheckSettings reads the settings like Evaluate.
func (Policy) CheckSettings(source string) error {
	_, err := read(source)
	return err
}

// Evaluate answers unknown while the domain is silent.
func (Policy) Evaluate(question policy.Question, source string, now time.Time, _ *slog.Logger) (policy.Verdict, error) {
	limits, err := read(source)
	if err != nil {
		return policy.Verdict{}, err
	}
	sick := policy.SicknessOf(question, question.Machine.MustBeFalse, now)
	if sick == nil {
		return policy.SayHealthy("the Node is ready", now.Add(policy.Long)), nil
	}
	holdsUntil := now.Add(limits.recheck)
	if limits.silent(question.Domain) {
		// The text has no numbers that change with each Node.
		reason := fmt.Sprintf("at least %d %% of the Machines in %s are silent: held until that is over", limits.silentPercent,
			place(question.Domain))
		return policy.SayUnknown(reason, holdsUntil), nil
	}
	return policy.SayUnhealthy(sick.Because, sick.Since, policy.Replace, holdsUntil), nil
}

func (of settings) silent(domain policy.Domain) bool {
	isLarge := uint64(domain.Machines) >= of.leastMachines
	return isLarge && uint64(domain.Silent)*100 >= of.silentPercent*uint64(domain.Machines)
}

func place(domain policy.Domain) string {
	if domain.Name == "" {
		return "an unknown failure domain"
	}
	return "failure domain " + domain.Name
}
