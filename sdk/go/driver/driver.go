// Package driver has the tools to write a cloud driver: implement Driver, and register it with package component.
package driver

// Driver manages the machines of one or more clouds. Each call of the host is a method, and runs in an instance of its
// own: nothing survives a call. wit/provider describes the promises of each call.
//
// A call fails by returning an *Error. Any other error, and a panic, becomes the code Internal with its text. Describe,
// ValidateClass, GetVolumeIDs, NodeID, Place and IsInterruptible have neither secrets nor network.
type Driver interface {
	// Describe describes the driver. Must not fail.
	Describe(host *Host) About
	// ValidateClass checks a class and returns warnings. Must accept every class that Create accepts.
	ValidateClass(host *Host, class Class) ([]string, error)
	// Create creates the machine, or finds the one that an earlier call with this idempotency key created.
	Create(host *Host, request Request) (Creation, error)
	// Delete removes the machine and everything created with it. If nothing exists, that is success.
	Delete(host *Host, request Request) (Deletion, error)
}

// StatusGetter is a driver that reports the state of a machine.
type StatusGetter interface {
	// GetStatus finds the machine by provider id, else by uid, else by name. Changes nothing.
	GetStatus(host *Host, request Request) (VM, error)
}

// Initializer is a driver with a step after creation.
type Initializer interface {
	// Initialize does the missing steps after creation, and nothing if none is missing.
	Initialize(host *Host, request Request) (VM, error)
}

// Lister is a driver that lists machines.
type Lister interface {
	// List returns one page of the machines with the cluster's mark in this class's account and place, and of no other
	// cluster. The token is that of the previous page, empty at first.
	List(host *Host, class Class, cluster, token string) (Page, error)
}

// VolumeIdentifier is a driver that knows the cloud's ids of volumes.
type VolumeIdentifier interface {
	// GetVolumeIDs returns the cloud's ids of these PersistentVolume specs (JSON each), in the same order; empty for
	// volumes of another kind.
	GetVolumeIDs(host *Host, volumeSpecs []string) ([]string, error)
}

// Rebooter is a driver that can restart machines.
type Rebooter interface {
	// Reboot restarts the machine, as by its reset button. Returns when the cloud has accepted the order.
	Reboot(host *Host, request Request) error
}

// IDDeleter is a driver that can remove one VM of two: a second VM of a Machine that has stored another one.
type IDDeleter interface {
	// DeleteByID removes the VM with this provider id and everything created with it, and nothing else: it does not
	// search by the Machine's uid or name. Returns when the cloud has accepted the order. If the VM does not exist,
	// that is success. The request has the id of the VM that the Machine keeps: fails with FailedPrecondition for that
	// one, and for a VM that lacks the cluster's mark; with InvalidArgument for an id that this driver never returns.
	DeleteByID(host *Host, request Request, providerID string) error
}

// NodeNamer is a driver whose own provider ids differ from those of Nodes, for Cluster API.
type NodeNamer interface {
	// NodeID returns the id that the cloud controller manager writes into the Node of this VM: 1 to 512 bytes, the same
	// for the same arguments.
	NodeID(host *Host, request Request, vm VM) (string, error)
}

// Placer is a driver that puts VMs into an exact failure domain, for Cluster API.
type Placer interface {
	// Place returns the providerSpec (JSON) that creates VMs of this class in this failure domain and nowhere else.
	Place(host *Host, class Class, failureDomain string) (string, error)
}

// InterruptionTeller is a driver that knows whether its cloud may take VMs away, for Cluster API.
type InterruptionTeller interface {
	// IsInterruptible reports whether the cloud may take a VM of this class away at any time: spot, preemptible. False if
	// the class does not say so.
	IsInterruptible(host *Host, class Class) (bool, error)
}

// CapacityTeller is a driver that knows the resources of Nodes, for Cluster API.
type CapacityTeller interface {
	// NodeCapacity returns the resources of a Node of this class. Changes nothing.
	NodeCapacity(host *Host, class Class) (NodeResources, error)
}
