// Package policy has the tools to write a health policy: implement Policy, and register it with package component.
package policy

import "time"

// Long is the longest time for a verdict: only another question changes it.
const Long = 12 * time.Hour

// Machine is one Machine of the cluster. An empty text means "none".
type Machine struct {
	Namespace string
	Name      string
	// UID is unique for all time.
	UID string
	// Class is its MachineClass.
	Class string
	// Deployment is its MachineDeployment, if it has one.
	Deployment string
	Labels     map[string]string
	ProviderID string
	Created    time.Time
	// HealthTimeout is how long the Machine may be unhealthy before it fails. Zero: forever.
	HealthTimeout time.Duration
	// MustBeFalse are types of Node conditions that must be False, by the Machine's settings. Sorted.
	MustBeFalse []string
	// CanReboot is true if its driver can restart its VM. If it is false, Reboot means to wait.
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

// String returns the status as Kubernetes writes it.
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

// Condition of the Node, without heartbeats: they change without a change of the Node.
type Condition struct {
	// Kind is such as Ready. Case matters.
	Kind    string
	Status  Status
	Reason  string
	Message string
	// Since is the time of the last change of the status; the zero time if the Node does not report it.
	Since time.Time
}

// Node is the Machine's Node.
type Node struct {
	Name string
	// Created is when it was registered; the zero time if unknown.
	Created time.Time
	Labels  map[string]string
	// Unschedulable is true if it accepts no more pods.
	Unschedulable bool
	// Conditions are sorted by kind.
	Conditions []Condition
}

// Phase is the phase of a Machine.
type Phase uint8

// The phases in which the host asks about a Machine.
const (
	PhaseUnknown Phase = iota
	PhaseRunning
	PhaseFailed
)

// History of a Machine.
type History struct {
	Phase Phase
	// PhaseSince is the zero time if unknown.
	PhaseSince time.Time
	// Reboots because of a policy. Oldest first, at most the last ten.
	Reboots []time.Time
}

// Domain is the Machines that fail together with this one, such as those of one zone.
type Domain struct {
	// Name is empty if unknown. All Machines without a known name count as one domain.
	Name string
	// Machines in it that have joined the cluster, including this one.
	Machines uint32
	// Silent are those of them whose Node is gone or not Ready, including this one.
	Silent uint32
}

// Question holds all facts that a policy may know of a Machine.
type Question struct {
	Machine Machine
	// Node is nil if it is gone.
	Node    *Node
	History History
	Domain  Domain
}

// Health of a Machine.
type Health uint8

// The healths. A Machine with unknown health keeps its phase and does not fail.
const (
	Unknown Health = iota
	Healthy
	Unhealthy
	healths
)

// IsKnown is false for undefined healths.
func (health Health) IsKnown() bool { return health < healths }

// String returns the health's name in the contract.
func (health Health) String() string {
	return [...]string{"unknown", "healthy", "unhealthy", "none"}[min(health, healths)]
}

// Action is the action for an unhealthy Machine.
type Action uint8

const (
	// Wait does nothing.
	Wait Action = iota
	// Reboot restarts the VM. The host does so at most once every ten minutes.
	Reboot
	// Replace lets the Machine fail when its health timeout is over, so that it is replaced.
	Replace
	actions
)

// IsKnown is false for undefined actions.
func (action Action) IsKnown() bool { return action < actions }

// Verdict is a policy's judgement. Create one with SayHealthy, SayUnhealthy or SayUnknown.
type Verdict struct {
	Health Health
	// Since is the time from which it is unhealthy.
	Since time.Time
	// Reason is one sentence for people. Return the same text for the same state.
	Reason string
	Action Action
	// HoldsUntil is the end of the verdict, as long as the question is the same.
	HoldsUntil time.Time
}

// SayHealthy says that the Machine is healthy.
func SayHealthy(reason string, holdsUntil time.Time) Verdict {
	return Verdict{Health: Healthy, Reason: reason, HoldsUntil: holdsUntil}
}

// SayUnhealthy says that the Machine is unhealthy, since when, and the action.
func SayUnhealthy(reason string, since time.Time, action Action, holdsUntil time.Time) Verdict {
	return Verdict{Unhealthy, since, reason, action, holdsUntil}
}

// SayUnknown says that the health is unknown: the host changes nothing on the Machine.
func SayUnknown(reason string, holdsUntil time.Time) Verdict {
	return Verdict{Health: Unknown, Reason: reason, HoldsUntil: holdsUntil}
}

// About is a policy's description of itself.
type About struct {
	Name string
	// Version is a semantic version.
	Version string
	// SettingsSchema is the JSON Schema of the settings, if there are any.
	SettingsSchema string
}
