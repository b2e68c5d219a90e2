// Package driver is what a cloud driver is made of: implement Driver, and package component makes it the component's.
package driver

// Driver manages the machines of one or more clouds. Each call of the host is a method, in an instance of its own: nothing is
// remembered between calls. What the contract promises of each call stands in wit/provider.
//
// A call fails by answering an *Error. Any other error, and a panic, becomes the code Internal with its text. Describe,
// ValidateClass and GetVolumeIDs have neither secrets nor network.
type Driver interface {
	// Describe says who this is. Must not fail.
	Describe(host *Host) About
	// ValidateClass checks a class; the answer is warnings. Must accept every class that Create accepts.
	ValidateClass(host *Host, class Class) ([]string, error)
	// Create makes the machine, or finds the one that an earlier call with this idempotency key made.
	Create(host *Host, request Request) (Creation, error)
	// Delete removes the machine and all that was made with it. One that is not there is success.
	Delete(host *Host, request Request) (Deletion, error)
}

// StatusGetter is a driver that says how a machine is.
type StatusGetter interface {
	// GetStatus finds the machine by provider id, else by uid, else by name. Changes nothing.
	GetStatus(host *Host, request Request) (VM, error)
}

// Initializer is a driver with a step after creation.
type Initializer interface {
	// Initialize does what is to be done after creation, and nothing when it is done already.
	Initialize(host *Host, request Request) (VM, error)
}

// Lister is a driver that lists machines.
type Lister interface {
	// List is one page of the machines of this class's account and place that carry the cluster's mark, and of no other
	// cluster. The token is what the page before gave, empty at first.
	List(host *Host, class Class, cluster, token string) (Page, error)
}

// VolumeIdentifier is a driver that knows the cloud's ids of volumes.
type VolumeIdentifier interface {
	// GetVolumeIDs is the cloud's ids of these PersistentVolume specs (JSON each), in their order; empty for volumes of
	// another kind.
	GetVolumeIDs(host *Host, volumeSpecs []string) ([]string, error)
}

// Rebooter is a driver that starts machines anew.
type Rebooter interface {
	// Reboot starts the machine anew, as by its reset button. Returns when the cloud has accepted that.
	Reboot(host *Host, request Request) error
}
