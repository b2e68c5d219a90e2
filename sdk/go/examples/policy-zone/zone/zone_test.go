package zone

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/policy"
	"github.com/machinist-dev/machinist/sdk/go/policy/policytest"
)

const (
	held = "unknown for 30s: at least 50 % of the Machines in failure domain zone-a are silent: held until that is over"
	sick = "unhealthy for 30s: Ready is Unknown"
)

func silent(machines, silent uint32) policy.Question {
	question := policytest.Question()
	question.Node.Conditions = []policy.Condition{policytest.Condition(policy.Ready, policy.StatusUnknown, policytest.Now.Add(-400))}
	question.Domain = policy.Domain{Name: "zone-a", Machines: machines, Silent: silent}
	return question
}

func check(test *testing.T, settings string, question policy.Question, expected string) {
	test.Helper()
	verdict := policytest.New(Policy{"0.1.0"}).Evaluate(question, settings, policytest.Now)
	said := fmt.Sprintf("%v for %v: %s", verdict.Health, verdict.HoldsUntil.Sub(policytest.Now), verdict.Reason)
	if said != expected {
		test.Error(said)
	}
}

func TestASickMachineIsHeldFromHalfOfItsDomainOn(test *testing.T) {
	check(test, "{}", silent(4, 1), sick)
	check(test, "{}", silent(4, 2), held)
	check(test, "{}", silent(5, 2), sick)
	check(test, "{}", silent(5, 5), held)
	check(test, `{"silentPercent": 30}`, silent(10, 3), strings.Replace(held, "50", "30", 1))
}

func TestADomainWithFewMachinesIsNeverSilent(test *testing.T) {
	check(test, "{}", silent(2, 2), sick)
	check(test, `{"leastMachines": 2}`, silent(2, 2), held)
}

func TestAHealthyMachineIsHealthyHoweverSilentItsDomainIs(test *testing.T) {
	question := policytest.Question()
	question.Domain = policy.Domain{Name: "zone-a", Machines: 10, Silent: 9}
	check(test, "{}", question, "healthy for 12h0m0s: the Node is ready")
}

func TestADomainWithoutANameIsOneToo(test *testing.T) {
	question := silent(3, 3)
	question.Domain.Name = ""
	check(test, "{}", question, strings.Replace(held, "failure domain zone-a", "an unknown failure domain", 1))
}

func TestSettingsThatCannotBeAreNamed(test *testing.T) {
	table := map[string]string{
		`{"silentPercent": 0}`:     "silentPercent is 0, and must be from 1 to 100",
		`{"leastMachines": 1}`:     "leastMachines is 1, and must be from 2 to 4294967295",
		`{"recheckSeconds": -1}`:   "recheckSeconds is -1, and must be from 1 to 3600",
		`{"recheckSeconds": true}`: "recheckSeconds must be a whole number, got true",
		`{"recheckSeconds": 1e99}`: "recheckSeconds must be a whole number, got 1e99",
		`{"percent": 1}`:           "percent is no setting; there are silentPercent, leastMachines, recheckSeconds",
		`[]`:                       "invalid: they must be a JSON object",
		`{`:                        "invalid: they are not JSON (line 1, column 2)",
	}
	host := policytest.New(Policy{"0.1.0"})
	for settings, expected := range table {
		if err := host.CheckSettings(settings); err == nil || err.Error() != expected {
			test.Error(settings, err)
		}
	}
	if err := host.CheckSettings("{}"); err != nil {
		test.Error(err)
	}
}

func TestTheSchemaNamesTheSettingsAndTheirDefaults(test *testing.T) {
	var known struct {
		Properties map[string]struct{ Default any }
	}
	var defaults map[string]any
	text, err := os.ReadFile("../settings.json")
	if err != nil || json.Unmarshal(text, &defaults) != nil || json.Unmarshal([]byte(schema), &known) != nil {
		test.Fatal(err)
	}
	said := map[string]any{}
	for name, field := range known.Properties {
		said[name] = field.Default
	}
	if !reflect.DeepEqual(said, defaults) {
		test.Error(said, defaults)
	}
}
