// Package policycalls answers the calls of the host with an author's policy: the same in a component and in a native
// test.
package policycalls

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/internal/blame"
	"github.com/machinist-dev/machinist/sdk/go/internal/shape"
	"github.com/machinist-dev/machinist/sdk/go/internal/text"
	"github.com/machinist-dev/machinist/sdk/go/policy"
)

// The time until the host calls a broken policy again about the same Machine.
const brokenFor = time.Minute

// Calls holds a policy, and its log.
type Calls struct {
	Policy policy.Policy
	Log    *slog.Logger
}

// Describe panics if the author's code does: the host then rejects the version before it is used.
func (calls *Calls) Describe() policy.About {
	about := calls.Policy.Describe()
	if err := shape.Check(about, "the answer of Describe"); err != nil {
		panic(err.Error())
	}
	return about
}

// CheckSettings returns an error that names the field.
func (calls *Calls) CheckSettings(settings string) (wrong error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			wrong = errors.New("CheckSettings panicked: " + blame.Panic(recovered))
		}
	}()
	if err := calls.Policy.CheckSettings(settings); err != nil {
		return errors.New(strings.ToValidUTF8(err.Error(), "\uFFFD"))
	}
	return nil
}

// Evaluate answers unknown for a policy that breaks, with the reason.
func (calls *Calls) Evaluate(question policy.Question, settings string, now time.Time) (verdict policy.Verdict) {
	broken := func(why string) policy.Verdict {
		return policy.SayUnknown("the policy broke: "+why, now.Add(brokenFor))
	}
	defer func() {
		if recovered := recover(); recovered != nil {
			said := blame.Panic(recovered)
			calls.Log.Error("the policy panicked", "panic", said)
			verdict = broken(said)
		}
	}()
	verdict, err := calls.Policy.Evaluate(question, settings, now, calls.Log)
	if err != nil {
		return broken(text.Quoted(err.Error()))
	}
	if err := check(verdict); err != nil {
		return broken(err.Error())
	}
	return verdict
}

func check(verdict policy.Verdict) error {
	if err := shape.Check(verdict, "the answer of Evaluate"); err != nil {
		return err
	}
	times := []struct {
		name string
		at   time.Time
	}{{"HoldsUntil", verdict.HoldsUntil}, {"Since", verdict.Since}}
	for _, time := range times {
		isNeeded := time.name == "HoldsUntil" || verdict.Health == policy.Unhealthy
		if isNeeded && (time.at.IsZero() || time.at.UnixMilli() < 0) {
			return fmt.Errorf("the answer of Evaluate.%s is missing, or before 1970", time.name)
		}
	}
	return nil
}
