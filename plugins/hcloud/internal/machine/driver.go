// Package machine is the driver of Hetzner Cloud: the host's calls, and their work.
//
//	the calls of the host                                     driver.go
//	from a request to exactly one server                      create.go, launch.go
//	a create that the cloud works on                          resume.go
//	the search for a Machine's server                         find.go
//	ownership of servers                                      marks.go
//	Floating IPs, and the adoption of servers                 initialize.go
//	deletions                                                 delete.go
//	listings                                                  list.go
//	from the cloud's objects to the contract's types          names.go
//	facts that the host keeps between two calls               state.go
package machine

import (
	"time"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/api"
	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The name of the driver, and the only provider that it serves.
const name = "hcloud"

// Hetzner states no such time; its own tools read at once. The driver is safe without it, since names are unique.
const consistencyWindow = 10 * time.Second

// Driver is the driver of Hetzner Cloud.
type Driver struct {
	// Version is the version of the build.
	Version string
}

// Describe describes the driver. Unique names serve as keys: a create with a name that exists finds its server.
func (served Driver) Describe(host *driver.Host) driver.About {
	var hosts []string
	if settings, err := api.ReadSettings(host.Settings()); err == nil {
		hosts = []string{settings.Host}
	}
	return driver.About{
		Name:              name,
		Version:           served.Version,
		Providers:         []string{name},
		ClassSchema:       class.Schema,
		IdempotencyKeys:   true,
		ConsistencyWindow: consistencyWindow,
		Hosts:             hosts,
	}
}

// ValidateClass reads the class like Create.
func (Driver) ValidateClass(_ *driver.Host, of driver.Class) ([]string, error) {
	_, warnings, err := class.Read(of)
	return warnings, err
}

// Create creates the server, or finds it.
func (Driver) Create(host *driver.Host, request driver.Request) (driver.Creation, error) {
	of, err := machinesOf(host, request.Cluster)
	if err != nil {
		return nil, err
	}
	return of.create(request)
}

// Initialize gives the server its Floating IP, and an adopted server its marks.
func (Driver) Initialize(host *driver.Host, request driver.Request) (driver.VM, error) {
	of, err := machinesOf(host, request.Cluster)
	if err != nil {
		return driver.VM{}, err
	}
	return of.initialize(request)
}

// GetStatus returns the state of the server.
func (Driver) GetStatus(host *driver.Host, request driver.Request) (driver.VM, error) {
	of, err := machinesOf(host, request.Cluster)
	if err != nil {
		return driver.VM{}, err
	}
	return of.status(request)
}

// Delete removes the server and its Floating IP.
func (Driver) Delete(host *driver.Host, request driver.Request) (driver.Deletion, error) {
	of, err := machinesOf(host, request.Cluster)
	if err != nil {
		return nil, err
	}
	return of.delete(request)
}

// List returns one page of the cluster's servers.
func (Driver) List(host *driver.Host, _ driver.Class, cluster, token string) (driver.Page, error) {
	of, err := machinesOf(host, cluster)
	if err != nil {
		return driver.Page{}, err
	}
	return of.list(token)
}

// Reboot presses the server's reset button.
func (Driver) Reboot(host *driver.Host, request driver.Request) error {
	of, err := machinesOf(host, request.Cluster)
	if err != nil {
		return err
	}
	return of.reboot(request)
}

// DeleteByID removes one server of two.
func (Driver) DeleteByID(host *driver.Host, request driver.Request, providerID string) error {
	of, err := machinesOf(host, request.Cluster)
	if err != nil {
		return err
	}
	return of.deleteOne(request, providerID)
}

// GetVolumeIDs returns the handles of Hetzner's CSI driver.
func (Driver) GetVolumeIDs(_ *driver.Host, volumeSpecs []string) ([]string, error) {
	ids := make([]string, len(volumeSpecs))
	for index, spec := range volumeSpecs {
		ids[index] = volumeID(spec)
	}
	return ids, nil
}

// NodeID returns the id that Hetzner's cloud controller manager writes into Nodes.
func (Driver) NodeID(_ *driver.Host, _ driver.Request, vm driver.VM) (string, error) {
	id, isKnown := serverID(vm.ProviderID)
	if !isKnown {
		return "", driver.Failed(driver.Internal, driver.Quoted(vm.ProviderID)+" is no id of this driver")
	}
	return nodeID(id), nil
}

// Place sets the zone.
func (Driver) Place(_ *driver.Host, of driver.Class, failureDomain string) (string, error) {
	return class.Place(of, failureDomain)
}

// NodeCapacity returns the size of the class's server type.
func (Driver) NodeCapacity(host *driver.Host, of driver.Class) (driver.NodeResources, error) {
	spec, _, err := class.Read(of)
	if err != nil {
		return driver.NodeResources{}, err
	}
	cloud, err := api.Open(host)
	if err != nil {
		return driver.NodeResources{}, err
	}
	kind, err := cloud.Type(spec.ServerType)
	if err != nil {
		return driver.NodeResources{}, err
	}
	if kind == nil {
		return driver.NodeResources{}, noType(spec.ServerType)
	}
	return api.Resources(kind), nil
}
