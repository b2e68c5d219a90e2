package policy

import (
	"slices"
	"strings"
	"time"
)

// Ready is the condition that a kubelet keeps for "this Node takes pods".
const Ready = "Ready"

// Sickness is what speaks against a Node.
type Sickness struct {
	// Because has one text for one state of things: causes sorted, no times.
	Because string
	// Since when the first of them.
	Since time.Time
}

// SicknessOf is the rule that everybody knows: Ready is True, and nothing on the list is anything but False. Nil: the Node is healthy.
// A missing Ready is not: a Node that says nothing of itself has not shown that it works.
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
