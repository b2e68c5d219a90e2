//go:build wasip1

// Package export_machinist_policy_policy is called by the generated exports of the interface.
package export_machinist_policy_policy

import (
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/policy/machinist_policy_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/judge"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func Describe() wit.About { return judge.AboutOut(judge.Calls().Describe()) }

func CheckSettings(settings string) types.Result[types.Unit, string] {
	if err := judge.Calls().CheckSettings(settings); err != nil {
		return types.Err[types.Unit](err.Error())
	}
	return types.Ok[types.Unit, string](types.Unit{})
}

func Evaluate(question wit.Question, settings string, now uint64) wit.Verdict {
	return judge.VerdictOut(judge.Calls().Evaluate(judge.QuestionIn(question), settings, judge.TimeIn(now)))
}
