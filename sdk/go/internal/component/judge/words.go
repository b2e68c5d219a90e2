//go:build wasip1

package judge

import (
	"math"
	"time"

	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/policy/machinist_policy_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
	"github.com/machinist-dev/machinist/sdk/go/policy"
)

var statuses = map[wit.Status]policy.Status{
	wit.StatusTrue:    policy.StatusTrue,
	wit.StatusFalse:   policy.StatusFalse,
	wit.StatusUnknown: policy.StatusUnknown,
}

var phases = map[wit.Phase]policy.Phase{
	wit.PhaseRunning: policy.PhaseRunning,
	wit.PhaseUnknown: policy.PhaseUnknown,
	wit.PhaseFailed:  policy.PhaseFailed,
}

var actions = map[policy.Action]wit.Action{
	policy.Wait:    wit.ActionNone,
	policy.Reboot:  wit.ActionReboot,
	policy.Replace: wit.ActionReplace,
}

// TimeIn converts a time of the contract.
func TimeIn(milliseconds uint64) time.Time {
	return time.UnixMilli(int64(min(milliseconds, math.MaxInt64))).UTC()
}

func timeOr(option types.Option[uint64]) time.Time {
	if milliseconds, is := option.Get(); is {
		return TimeIn(milliseconds)
	}
	return time.Time{}
}

func or(option types.Option[string]) string {
	value, _ := option.Get()
	return value
}

func pairs(list []types.Tuple2[string, string]) map[string]string {
	pairs := make(map[string]string, len(list))
	for _, pair := range list {
		pairs[pair.F0] = pair.F1
	}
	return pairs
}

// QuestionIn converts the contract's question.
func QuestionIn(question wit.Question) policy.Question {
	machine := question.Machine
	timeout, _ := machine.HealthTimeoutMs.Get()
	asked := policy.Question{
		Machine: policy.Machine{
			Namespace:     machine.Namespace,
			Name:          machine.Name,
			UID:           machine.Uid,
			Class:         machine.Class,
			Deployment:    or(machine.Deployment),
			Labels:        pairs(machine.Labels),
			ProviderID:    or(machine.ProviderId),
			Created:       TimeIn(machine.Created),
			HealthTimeout: time.Duration(min(timeout, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond,
			MustBeFalse:   machine.MustBeFalse,
			CanReboot:     machine.CanReboot,
		},
		History: policy.History{
			Phase:      phases[question.History.Phase],
			PhaseSince: timeOr(question.History.PhaseSince),
		},
		Domain: policy.Domain{
			Name:     or(question.Domain.Name),
			Machines: question.Domain.Machines,
			Silent:   question.Domain.Silent,
		},
	}
	for _, reboot := range question.History.Reboots {
		asked.History.Reboots = append(asked.History.Reboots, TimeIn(reboot))
	}
	if node, is := question.Node.Get(); is {
		asked.Node = nodeIn(node)
	}
	return asked
}

func nodeIn(node wit.Node) *policy.Node {
	in := &policy.Node{
		Name:          node.Name,
		Created:       timeOr(node.Created),
		Labels:        pairs(node.Labels),
		Unschedulable: node.Unschedulable,
	}
	for _, condition := range node.Conditions {
		in.Conditions = append(in.Conditions, policy.Condition{
			Kind:    condition.Kind,
			Status:  statuses[condition.Status],
			Reason:  condition.Reason,
			Message: condition.Message,
			Since:   timeOr(condition.Since),
		})
	}
	return in
}

// AboutOut converts to the contract's record.
func AboutOut(about policy.About) wit.About {
	schema := types.None[string]()
	if about.SettingsSchema != "" {
		schema = types.Some(about.SettingsSchema)
	}
	return wit.About{Name: about.Name, Version: about.Version, SettingsSchema: schema}
}

// VerdictOut converts to the contract's record.
func VerdictOut(verdict policy.Verdict) wit.Verdict {
	health := wit.MakeHealthUnknown()
	switch verdict.Health {
	case policy.Healthy:
		health = wit.MakeHealthHealthy()
	case policy.Unhealthy:
		health = wit.MakeHealthUnhealthy(uint64(verdict.Since.UnixMilli()))
	}
	return wit.Verdict{
		Health:     health,
		Reason:     verdict.Reason,
		Action:     actions[verdict.Action],
		HoldsUntil: uint64(verdict.HoldsUntil.UnixMilli()),
	}
}
