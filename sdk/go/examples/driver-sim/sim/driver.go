// Package sim is the driver of the simulated cloud.
//
//	the calls of the host                              driver.go
//	the work of each call in the cloud                 machines.go
//	the fields of a class                              spec.go, fields.go
//	the cloud's API and its objects                    cloud.go, answer.go
//	the cloud's error codes                            refusal.go
//	from the cloud's objects to the contract's types   names.go
//	the address of the cloud                           endpoint.go
package sim

import (
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The name of the driver, and the only provider that it serves.
const name = "sim"

// Driver is the driver of the simulated cloud. It has all capabilities of the contract.
type Driver struct {
	// Version is the version of the build.
	Version string
}

// Describe describes the driver.
func (served Driver) Describe(host *driver.Host) driver.About {
	var hosts []string
	if at, err := endpointOf(host.Settings()); err == nil {
		hosts = []string{at.host}
	}
	return driver.About{
		Name:            name,
		Version:         served.Version,
		Providers:       []string{name},
		ClassSchema:     schema,
		IdempotencyKeys: true,
		// How long after a create reads of the cloud may not show the VM.
		ConsistencyWindow: 10 * time.Second,
		Hosts:             hosts,
	}
}

// ValidateClass reads the class like Create.
func (Driver) ValidateClass(_ *driver.Host, class driver.Class) ([]string, error) {
	_, warnings, err := readSpec(class)
	return warnings, err
}

// Create creates the VM, or finds it.
func (Driver) Create(host *driver.Host, request driver.Request) (driver.Creation, error) {
	of, err := machinesOf(host)
	if err != nil {
		return nil, err
	}
	vm, err := of.create(request)
	return vm, err
}

// Initialize completes the VM if the class asks for it.
func (Driver) Initialize(host *driver.Host, request driver.Request) (driver.VM, error) {
	of, err := machinesOf(host)
	if err != nil {
		return driver.VM{}, err
	}
	return of.initialize(request)
}

// Delete removes the VM and its volumes.
func (Driver) Delete(host *driver.Host, request driver.Request) (driver.Deletion, error) {
	of, err := machinesOf(host)
	if err != nil {
		return nil, err
	}
	return driver.Deleted{}, of.delete(request)
}

// GetStatus returns the state of the VM.
func (Driver) GetStatus(host *driver.Host, request driver.Request) (driver.VM, error) {
	of, err := machinesOf(host)
	if err != nil {
		return driver.VM{}, err
	}
	return of.status(request)
}

// List returns one page of the cluster's VMs.
func (Driver) List(host *driver.Host, _ driver.Class, cluster, token string) (driver.Page, error) {
	of, err := machinesOf(host)
	if err != nil {
		return driver.Page{}, err
	}
	return of.list(cluster, token)
}

// GetVolumeIDs returns the handles of this cloud's CSI driver.
func (Driver) GetVolumeIDs(_ *driver.Host, volumeSpecs []string) ([]string, error) {
	ids := make([]string, len(volumeSpecs))
	for index, spec := range volumeSpecs {
		id, err := volumeID(spec, index)
		if err != nil {
			return nil, err
		}
		ids[index] = id
	}
	return ids, nil
}

// Reboot restarts the VM.
func (Driver) Reboot(host *driver.Host, request driver.Request) error {
	of, err := machinesOf(host)
	if err != nil {
		return err
	}
	return of.reboot(request)
}

// DeleteByID removes one VM of two.
func (Driver) DeleteByID(host *driver.Host, request driver.Request, providerID string) error {
	of, err := machinesOf(host)
	if err != nil {
		return err
	}
	return of.deleteOne(request, providerID)
}

// NodeID returns the driver's own id, with which the kubelets of this cloud register.
func (Driver) NodeID(_ *driver.Host, _ driver.Request, vm driver.VM) (string, error) {
	return vm.ProviderID, nil
}

// Place sets the zone.
func (Driver) Place(_ *driver.Host, class driver.Class, failureDomain string) (string, error) {
	return placed(class, failureDomain)
}

// IsInterruptible reports what the class says.
func (Driver) IsInterruptible(_ *driver.Host, class driver.Class) (bool, error) {
	read, _, err := readSpec(class)
	return read.interruptible, err
}

// NodeCapacity returns the size of the class's type.
func (Driver) NodeCapacity(host *driver.Host, class driver.Class) (driver.NodeResources, error) {
	read, _, err := readSpec(class)
	if err != nil {
		return driver.NodeResources{}, err
	}
	of, err := openCloud(host)
	if err != nil {
		return driver.NodeResources{}, err
	}
	size, err := of.size(read.kind)
	if err != nil {
		return driver.NodeResources{}, err
	}
	if size == nil {
		return driver.NodeResources{}, driver.Failed(driver.NotFound, "the cloud has no type "+driver.Quoted(read.kind))
	}
	return size.resources(), nil
}
