package policy_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/policy"
	"github.com/machinist-dev/machinist/sdk/go/policy/policytest"
)

func TestTheDefaultRuleNamesItsCauses(test *testing.T) {
	ago := func(seconds int) time.Time { return policytest.Now.Add(-time.Duration(seconds) * time.Second) }
	check := func(expected string, since time.Time, change func(*policy.Question)) {
		test.Helper()
		question := policytest.Question()
		change(&question)
		sick := policy.SicknessOf(question, question.Machine.MustBeFalse, policytest.Now)
		if expected == "" {
			if sick != nil {
				test.Error(*sick)
			}
			return
		}
		if sick == nil || sick.Because != expected || !sick.Since.Equal(since) {
			test.Error(sick)
		}
	}
	day := ago(86_400)
	conditions := func(list ...policy.Condition) func(*policy.Question) {
		return func(question *policy.Question) { question.Node.Conditions = list }
	}
	check("", day, func(*policy.Question) {})
	check("the Node is gone", day, func(question *policy.Question) { question.Node = nil })
	check("Ready is missing", day, conditions())
	check("Ready is False", ago(9), conditions(policytest.Condition("Ready", policy.StatusFalse, ago(9))))
	check("DiskPressure is True, Ready is Unknown", ago(20), conditions(
		policytest.Condition("Ready", policy.StatusUnknown, ago(9)),
		policytest.Condition("DiskPressure", policy.StatusTrue, ago(20)),
		policytest.Condition("Other", policy.StatusTrue, ago(99))))
}

// Returns the answer that a test sets.
type puppet func() (policy.Verdict, error)

func (puppet) Describe() policy.About        { return policy.About{} }
func (of puppet) CheckSettings(string) error { _, err := of(); return err }
func (of puppet) Evaluate(policy.Question, string, time.Time, *slog.Logger) (policy.Verdict, error) {
	return of()
}

func TestAPolicyThatBreaksDoesNotKnow(test *testing.T) {
	at := policytest.Now
	table := []struct {
		judge puppet
		words string
	}{
		{func() (policy.Verdict, error) { return policy.Verdict{}, errors.New("oops") }, "the policy broke: oops"},
		{func() (policy.Verdict, error) { panic("oops") }, "the policy broke: oops (policy_test.go line "},
		{func() (policy.Verdict, error) { return policy.Verdict{}, nil }, "Evaluate.HoldsUntil is missing"},
		{func() (policy.Verdict, error) { return policy.SayUnhealthy("x", time.Time{}, policy.Wait, at), nil }, "Evaluate.Since is missing"},
		{func() (policy.Verdict, error) { return policy.SayHealthy("\xff", at), nil }, "Evaluate.Reason is not UTF-8"},
		{func() (policy.Verdict, error) { return policy.SayUnhealthy("x", at, 99, at), nil }, "Evaluate.Action has a value that does not exist"},
	}
	for _, row := range table {
		verdict := policytest.New(row.judge).Evaluate(policytest.Question(), "{}", at)
		if verdict.Health != policy.Unknown || !strings.Contains(verdict.Reason, row.words) || verdict.HoldsUntil != at.Add(time.Minute) {
			test.Error(verdict)
		}
	}
	err := policytest.New(puppet(func() (policy.Verdict, error) { panic("oops") })).CheckSettings("{}")
	if err == nil || !strings.HasPrefix(err.Error(), "CheckSettings panicked: oops (policy_test.go") {
		test.Error(err)
	}
}

func TestSettingsAreReadByKindAndTheFirstFaultCounts(test *testing.T) {
	read := func(source string) (text string, is bool, texts []string, err error) {
		settings := policy.ReadSettings(source)
		settings.Whole("whole", 1, 0, 9)
		text, is, texts = settings.Text("text", "none"), settings.Is("is", true), settings.Texts("texts", nil)
		return text, is, texts, settings.Done()
	}
	text, is, texts, err := read(`{"text": "a", "is": false, "texts": ["b", "c"], "whole": 9}`)
	if text != "a" || is || strings.Join(texts, "") != "bc" || err != nil {
		test.Error(text, is, texts, err)
	}
	if text, is, texts, err = read("{}"); text != "none" || !is || texts != nil || err != nil {
		test.Error(text, is, texts, err)
	}
	table := map[string]string{
		`{"text": 1}`:              "text must be a text, got 1",
		`{"is": null}`:             "is must be true or false, got null",
		`{"texts": ["a", null]}`:   `texts must be a list of texts, got ["a",null]`,
		`{"texts": {}}`:            "texts must be a list of texts, got {}",
		`{"whole": 1.5}`:           "whole must be a whole number, got 1.5",
		`{"z": 1, "b": 2}`:         "b is no setting; there are whole, text, is, texts",
		`{"whole": 10, "text": 1}`: "whole is 10, and must be from 0 to 9",
		`null`:                     "invalid: they must be a JSON object",
	}
	for source, expected := range table {
		if _, _, _, err := read(source); err == nil || err.Error() != expected {
			test.Error(source, err)
		}
	}
}
