// Package sim is the driver of the simulated cloud.
//
//	what does the host call                           driver.go
//	what does each call do in the cloud               machines.go, delete.go
//	what may a class say                              spec.go, fields.go
//	what does the cloud's API look like               cloud.go, answer.go
//	what does a refusal mean                          refusal.go
//	how does the cloud's word become the contract's   names.go
//	where is the cloud                                endpoint.go
package sim

import (
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The name of the driver and the only provider that it serves.
const name = "sim"

// Driver can do all that the contract knows.
type Driver struct {
	// Version is that of the build.
	Version string
}

// Describe says who this is.
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
		// After a create, reads of the cloud may not show the VM for as long as this.
		ConsistencyWindow: 10 * time.Second,
		Hosts:             hosts,
	}
}

// ValidateClass reads the class as Create does.
func (Driver) ValidateClass(_ *driver.Host, class driver.Class) ([]string, error) {
	_, warnings, err := readSpec(class)
	return warnings, err
}

// Create makes the VM, or finds it.
func (Driver) Create(host *driver.Host, request driver.Request) (driver.Creation, error) {
	of, err := machinesOf(host)
	if err != nil {
		return nil, err
	}
	vm, err := of.create(request)
	return vm, err
}

// Initialize finishes the VM where the class asks for it.
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

// GetStatus says how the VM is.
func (Driver) GetStatus(host *driver.Host, request driver.Request) (driver.VM, error) {
	of, err := machinesOf(host)
	if err != nil {
		return driver.VM{}, err
	}
	return of.status(request)
}

// List answers one page of the cluster's VMs.
func (Driver) List(host *driver.Host, _ driver.Class, cluster, token string) (driver.Page, error) {
	of, err := machinesOf(host)
	if err != nil {
		return driver.Page{}, err
	}
	return of.list(cluster, token)
}

// GetVolumeIDs reads the handles of this cloud's CSI driver.
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

// Reboot starts the VM anew.
func (Driver) Reboot(host *driver.Host, request driver.Request) error {
	of, err := machinesOf(host)
	if err != nil {
		return err
	}
	return of.reboot(request)
}
