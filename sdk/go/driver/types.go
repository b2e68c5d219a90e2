package driver

import "time"

// Code classifies a failure. The host decides by it when to retry.
type Code uint8

const (
	// Unknown means that the error cannot be classified. It may have happened.
	Unknown Code = iota
	// Canceled means that the caller gave up.
	Canceled
	// InvalidArgument means that the class or the machine can never work.
	InvalidArgument
	// DeadlineExceeded means that the cloud was too slow. It may have happened.
	DeadlineExceeded
	// NotFound means that the machine does not exist in the cloud. In Delete that is success: return Deleted instead.
	NotFound
	// AlreadyExists means that the name belongs to something that is not this machine.
	AlreadyExists
	// PermissionDenied means that the identity is known and lacks a right.
	PermissionDenied
	// ResourceExhausted means that quota or capacity is used up. The autoscaler uses other pools.
	ResourceExhausted
	// FailedPrecondition means that a person must fix something in the cloud first.
	FailedPrecondition
	// Aborted means that a concurrent change interfered.
	Aborted
	// OutOfRange means that several machines have this one's name.
	OutOfRange
	// Unimplemented means that this driver does not offer the call.
	Unimplemented
	// Internal means that the driver met a state that it considers impossible.
	Internal
	// Unavailable means a temporary outage of the cloud.
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

// String returns the code's name in the contract.
func (code Code) String() string {
	if code >= codes {
		return "a code that does not exist"
	}
	return codeNames[code]
}

// IsKnown is false for undefined codes.
func (code Code) IsKnown() bool { return code < codes }

// Machine is one Machine of the cluster. An empty text means "none".
type Machine struct {
	Namespace string
	// Name is unique in the namespace among Machines that exist at the same time.
	Name string
	// UID is unique for all time. Set it on the machine as a tag, and find the machine by it.
	UID         string
	Labels      map[string]string
	Annotations map[string]string
	// ProviderID is the cloud's id as this driver returned it. Empty before the machine is created, and after a crash in
	// between.
	ProviderID string
	// NodeTemplate is JSON: metadata and taints for the Node.
	NodeTemplate string
	// LastKnownState is the last state that this driver returned for this machine.
	LastKnownState string
}

// Class is the MachineClass of the call.
type Class struct {
	Name string
	// Provider is the provider name by which the host chose the driver.
	Provider string
	// Spec is `providerSpec`, JSON as the user wrote it. ReadJSON decodes it.
	Spec string
	// NodeTemplate is JSON: capacity, instance type, region, zone.
	NodeTemplate string
	// Zones may be used instead, best first. Empty: only the zone of Spec.
	Zones []string
}

// Request holds the arguments of every call about a machine.
type Request struct {
	Machine Machine
	Class   Class
	// IdempotencyKey is derived from the Machine's uid. Pass it to the cloud if the cloud has idempotency keys.
	IdempotencyKey string
	// Cluster identifies the cluster in the cloud. Set it on every machine as a tag, list by it, touch nothing without it.
	Cluster string
	// Deadline is the time for the call. Host.Remaining returns the time left.
	Deadline time.Duration
}

// Address is one address of a VM.
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

// VMState is the state of a VM.
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

// IsKnown is false for undefined states.
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
	// LastKnownState is stored by the host and comes back. Empty keeps the stored state.
	LastKnownState string
}

// NodeResources are the resources and the platform of a Node.
type NodeResources struct {
	// Resources are Kubernetes quantities by name: at least cpu and memory.
	Resources map[string]string
	// Architecture is amd64, arm64, s390x, ppc64le, or empty.
	Architecture string
	// OperatingSystem is linux, windows, or empty.
	OperatingSystem string
}

// Progress means that the cloud is working on it. The host stores the token and calls again, in an instance of its own.
type Progress struct {
	// ResumeToken comes back as the machine's LastKnownState.
	ResumeToken string
	// AskAgain is the minimum time until the next call.
	AskAgain time.Duration
	// Message is for people: the step in progress.
	Message string
}

// Deleted means that the cloud has accepted the order, or that nothing exists.
type Deleted struct {
	// LastKnownState is stored by the host. Empty keeps the stored state.
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
	// MachineName is empty if the machine has no such tag.
	MachineName string
	MachineUID  string
	// Created is the zero time if the cloud does not report it.
	Created time.Time
}

// Page is one page of a listing. If Next is set, there are more.
type Page struct {
	Machines []Listed
	Next     string
}

// About is a driver's description of itself. Its methods show which calls it offers.
type About struct {
	Name string
	// Version is a semantic version.
	Version string
	// Providers are the values of a MachineClass's `provider` that it serves.
	Providers []string
	// ClassSchema is the JSON Schema of `providerSpec`.
	ClassSchema string
	// IdempotencyKeys is true if the cloud keeps them: a create with a known key returns the same machine.
	IdempotencyKeys bool
	// ConsistencyWindow is how long after a create reads of the cloud may not show the machine.
	ConsistencyWindow time.Duration
	// Hosts are requested as patterns of grants. An operator grants them or not.
	Hosts []string
}
