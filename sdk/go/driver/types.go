package driver

import "time"

// Code says for machines what went wrong. The host decides by it when to try again.
type Code uint8

const (
	// Unknown is not classifiable. It may have happened.
	Unknown Code = iota
	// Canceled means that the caller gave up.
	Canceled
	// InvalidArgument means that the class or the machine can never work as it is.
	InvalidArgument
	// DeadlineExceeded means too slow. It may have happened.
	DeadlineExceeded
	// NotFound means that the machine does not exist in the cloud. In Delete that is success: answer Deleted instead.
	NotFound
	// AlreadyExists means that the name is taken by something that is not this machine.
	AlreadyExists
	// PermissionDenied means that the identity is known and lacks a right.
	PermissionDenied
	// ResourceExhausted means that quota or capacity is used up. The autoscaler looks elsewhere.
	ResourceExhausted
	// FailedPrecondition means that a person must mend something in the cloud first.
	FailedPrecondition
	// Aborted means that a change at the same time was in the way.
	Aborted
	// OutOfRange means that several machines answer to this one's name.
	OutOfRange
	// Unimplemented means that this driver does not offer the call.
	Unimplemented
	// Internal means that the driver met what it holds impossible.
	Internal
	// Unavailable is a passing outage of the cloud.
	Unavailable
	// DataLoss means lost beyond repair.
	DataLoss
	// Unauthenticated means that the cloud does not accept the credentials.
	Unauthenticated
	// Uninitialized means that the machine exists and Initialize is due. Carries provider id and node name.
	Uninitialized
	codes
)

var codeNames = [codes]string{
	"unknown", "canceled", "invalid-argument", "deadline-exceeded", "not-found", "already-exists", "permission-denied",
	"resource-exhausted", "failed-precondition", "aborted", "out-of-range", "unimplemented", "internal", "unavailable",
	"data-loss", "unauthenticated", "uninitialized",
}

// String is the code's name in the contract.
func (code Code) String() string {
	if code >= codes {
		return "a code that does not exist"
	}
	return codeNames[code]
}

// IsKnown is false for numbers that are no code.
func (code Code) IsKnown() bool { return code < codes }

// Machine is one Machine of the cluster. An empty text means that there is none.
type Machine struct {
	Namespace string
	// Name is unique in the namespace among those that live at the same time.
	Name string
	// UID is unique for all time. Put it on the machine as a tag, and find the machine by it.
	UID         string
	Labels      map[string]string
	Annotations map[string]string
	// ProviderID is the cloud's id as this driver gave it. Empty before the machine is created, and after a crash in between.
	ProviderID string
	// NodeTemplate is JSON: metadata and taints that the Node is to carry.
	NodeTemplate string
	// LastKnownState is what this driver said last about this machine.
	LastKnownState string
}

// Class is the MachineClass of the call.
type Class struct {
	Name string
	// Provider is the provider name by which the driver was chosen.
	Provider string
	// Spec is `providerSpec`, JSON as the user wrote it. ReadJSON reads it.
	Spec string
	// NodeTemplate is JSON: capacity, instance type, region, zone.
	NodeTemplate string
	// Zones may be used instead, best first. Empty: only what Spec says.
	Zones []string
}

// Request is what every call about a machine gets.
type Request struct {
	Machine Machine
	Class   Class
	// IdempotencyKey is made from the Machine's uid. Hand it to the cloud where the cloud takes one.
	IdempotencyKey string
	// Cluster names the cluster towards the cloud. Put it on every machine as a tag, list by it, touch nothing without it.
	Cluster string
	// Deadline is how long the call may take. Host.Remaining says what is left of it.
	Deadline time.Duration
}

// Address is one of a VM.
type Address struct {
	// Kind is Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
	Kind    string
	Address string
}

// Condition is a fact about the machine in the cloud, as a Kubernetes condition. Status is True, False or Unknown.
type Condition struct {
	Kind    string
	Status  string
	Reason  string
	Message string
}

// VMState is where a VM is in its life.
type VMState uint8

// The states of a VM.
const (
	VMUnknown VMState = iota
	VMPending
	VMRunning
	VMStopping
	VMStopped
	vmStates
)

// IsKnown is false for numbers that are no state.
func (state VMState) IsKnown() bool { return state < vmStates }

// VM is a machine as the cloud shows it.
type VM struct {
	ProviderID string
	// NodeName is the name under which the machine's Node registers.
	NodeName      string
	State         VMState
	Addresses     []Address
	FailureDomain string
	Conditions    []Condition
	// LastKnownState is stored by the host and comes back. Empty leaves what is stored.
	LastKnownState string
}

// Progress says that the cloud works on it. The host stores the token and calls again, in an instance of its own.
type Progress struct {
	// ResumeToken comes back as the machine's LastKnownState.
	ResumeToken string
	// AskAgain is how long to wait at least.
	AskAgain time.Duration
	// Message is for people: what is awaited.
	Message string
}

// Deleted says that the cloud has accepted it, or that nothing is there.
type Deleted struct {
	// LastKnownState is stored by the host. Empty leaves what is stored.
	LastKnownState string
}

// Creation is the answer of Create: a VM or Progress.
type Creation interface{ creation() }

// Deletion is the answer of Delete: Deleted or Progress.
type Deletion interface{ deletion() }

func (VM) creation()       {}
func (Progress) creation() {}
func (Deleted) deletion()  {}
func (Progress) deletion() {}

// Listed is a machine in a listing.
type Listed struct {
	ProviderID string
	// MachineName is empty when the machine does not say.
	MachineName string
	MachineUID  string
	// Created is the zero time where the cloud does not say it.
	Created time.Time
}

// Page is one page of a listing. With Next there is more.
type Page struct {
	Machines []Listed
	Next     string
}

// About is what a driver says about itself. What it offers is seen by its methods.
type About struct {
	Name string
	// Version is a semantic version.
	Version string
	// Providers are the values of a MachineClass's `provider` that it serves.
	Providers []string
	// ClassSchema is the JSON Schema of `providerSpec`.
	ClassSchema string
	// IdempotencyKeys: the cloud keeps them, and a create with a known key answers with the same machine.
	IdempotencyKeys bool
	// ConsistencyWindow: after a create, reads of the cloud may not show the machine for as long as this.
	ConsistencyWindow time.Duration
	// Hosts that it would like to reach, as patterns of grants. A wish, not a grant.
	Hosts []string
}
