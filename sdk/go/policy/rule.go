package policy

import (
	"slices"
	"strings"
	"time"
)

// Ready is the condition by which a kubelet reports that its Node accepts pods.
const Ready = "Ready"

// Sickness is the reason why a Node is unhealthy.
type Sickness struct {
	// Because is one text for one state: causes sorted, no times.
	Because string
	// Since is the time of the earliest cause.
	Since time.Time
}

// SicknessOf is the standard rule: Ready is True, and no condition on the list has another status than False. Nil if
// the Node is healthy. A missing Ready is unhealthy: such a Node has not shown that it works.
func SicknessOf(question Question, mustBeFalse []string, now time.Time) *Sickness {
	phaseSince := or(question.History.PhaseSince, now)
	node := question.Node
	if node == nil {
		return &Sickness{"the Node is gone", phaseSince}
	}
	var causes []string
	var times []time.Time
	saysReady := false
	for _, condition := range node.Conditions {
		saysReady = saysReady || condition.Kind == Ready
		if speaksAgainst(condition, mustBeFalse) {
			causes = append(causes, condition.Kind+" is "+condition.Status.String())
			times = append(times, or(condition.Since, phaseSince))
		}
	}
	if !saysReady {
		causes = append(causes, Ready+" is missing")
		times = append(times, or(node.Created, phaseSince))
	}
	if len(causes) == 0 {
		return nil
	}
	slices.Sort(causes)
	return &Sickness{strings.Join(slices.Compact(causes), ", "), slices.MinFunc(times, time.Time.Compare)}
}

func speaksAgainst(condition Condition, mustBeFalse []string) bool {
	if condition.Kind == Ready && condition.Status != StatusTrue {
		return true
	}
	return condition.Status != StatusFalse && slices.Contains(mustBeFalse, condition.Kind)
}

func or(at, other time.Time) time.Time {
	if at.IsZero() {
		return other
	}
	return at
}
