// Package policy is what a health policy is made of: implement Policy, and package component makes it the component's.
package policy

import "time"

// Long is how long the host lets a verdict hold that nothing but another question changes.
const Long = 12 * time.Hour

// Machine is one Machine of the cluster. An empty text means that there is none.
type Machine struct {
	Namespace string
	Name      string
	// UID is unique for all time.
	UID string
	// Class is its MachineClass.
	Class string
	// Deployment is the MachineDeployment that it belongs to, where it does.
	Deployment string
	Labels     map[string]string
	ProviderID string
	Created    time.Time
	// HealthTimeout is how long the Machine may be unhealthy before it fails. Zero: for ever.
	HealthTimeout time.Duration
	// MustBeFalse are types of Node conditions that must be False, by the Machine's settings. Sorted.
	MustBeFalse []string
	// CanReboot: its driver can start its VM anew. Where this is false, Reboot means to wait.
	CanReboot bool
}

// Status of a condition.
type Status uint8

// The statuses.
const (
	StatusUnknown Status = iota
	StatusTrue
	StatusFalse
)

// String is the status as Kubernetes writes it.
func (status Status) String() string {
	switch status {
	case StatusTrue:
		return "True"
	case StatusFalse:
		return "False"
	default:
		return "Unknown"
	}
}

// Condition of the Node. Heartbeats are left out: they change by themselves.
type Condition struct {
	// Kind is such as Ready. Case matters.
	Kind    string
	Status  Status
	Reason  string
	Message string
	// Since when the status is what it is; the zero time where the Node does not say.
	Since time.Time
}

// Node is the Machine's Node.
type Node struct {
	Name string
	// Created is when it was registered; the zero time where that is not known.
	Created time.Time
	Labels  map[string]string
	// Unschedulable: it takes no more pods.
	Unschedulable bool
	// Conditions are sorted by kind.
	Conditions []Condition
}

// Phase is where a Machine is in its life.
type Phase uint8

// The phases of Machines that are asked about.
const (
	PhaseUnknown Phase = iota
	PhaseRunning
	PhaseFailed
)

// History of a Machine.
type History struct {
	Phase Phase
	// PhaseSince is the zero time where that is not known.
	PhaseSince time.Time
	// Reboots because of a policy. Oldest first, the last ten at most.
	Reboots []time.Time
}

// Domain is the Machines that fail together with this one, such as those of one zone.
type Domain struct {
	// Name is empty where it is not known. All Machines of which it is not known count as one domain.
	Name string
	// Machines in it that have joined the cluster, this one too.
	Machines uint32
	// Silent are those of them whose Node is gone or does not say that it is ready, this one too.
	Silent uint32
}

// Question is all that a policy may know of a Machine.
type Question struct {
	Machine Machine
	// Node is nil when it is gone.
	Node    *Node
	History History
	Domain  Domain
}

// Health of a Machine.
type Health uint8

// The healths. Of a Machine whose health is Unknown nothing is done: it keeps its phase, and it does not fail.
const (
	Unknown Health = iota
	Healthy
	Unhealthy
	healths
)

// IsKnown is false for numbers that are no health.
func (health Health) IsKnown() bool { return health < healths }

// String is the health's name in the contract.
func (health Health) String() string {
	return [...]string{"unknown", "healthy", "unhealthy", "none"}[min(health, healths)]
}

// Action is what to do about a Machine that is not healthy.
type Action uint8

const (
	// Wait does nothing.
	Wait Action = iota
	// Reboot starts the VM anew. The host does so once every ten minutes at most.
	Reboot
	// Replace lets the Machine fail when its health time-out is over, so that it is replaced.
	Replace
	actions
)

// IsKnown is false for numbers that are no action.
func (action Action) IsKnown() bool { return action < actions }

// Verdict is what a policy thinks. Verdicts are made by SayHealthy, SayUnhealthy and SayUnknown.
type Verdict struct {
	Health Health
	// Since when it is unhealthy.
	Since time.Time
	// Reason is one sentence for people. The same state of things must have the same text.
	Reason string
	Action Action
	// HoldsUntil: until then the verdict holds as long as the question is the same.
	HoldsUntil time.Time
}

// SayHealthy says that the Machine is well.
func SayHealthy(reason string, holdsUntil time.Time) Verdict {
	return Verdict{Health: Healthy, Reason: reason, HoldsUntil: holdsUntil}
}

// SayUnhealthy says that the Machine is not well, since when, and what to do.
func SayUnhealthy(reason string, since time.Time, action Action, holdsUntil time.Time) Verdict {
	return Verdict{Unhealthy, since, reason, action, holdsUntil}
}

// SayUnknown says that it is not to be told: nothing is done to the Machine.
func SayUnknown(reason string, holdsUntil time.Time) Verdict {
	return Verdict{Health: Unknown, Reason: reason, HoldsUntil: holdsUntil}
}

// About is what a policy says about itself.
type About struct {
	Name string
	// Version is a semantic version.
	Version string
	// SettingsSchema is the JSON Schema of the settings, where there are any.
	SettingsSchema string
}
