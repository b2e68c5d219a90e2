// Package machines is the driver of OpenStack.
//
//	the calls of the host                             driver.go
//	exactly one server for a Machine                  create.go, build.go, claim.go
//	removal of servers, ports and volumes             remove.go
//	steps after the create                            initialize.go
//	whose a server is                                 marks.go, find.go
//	facts for the next call                           state.go
//	the plugin's settings                             settings.go
//	from the cloud's objects to the contract's types  names.go
package machines

import (
	"time"

	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// consistencyWindow is how long a create whose answer was lost may still lead to a server. Nova's API answers after it
// has written the request for a server, and drops one that waited longer than its timeouts (60 s) for other services.
const consistencyWindow = 90 * time.Second

// Driver is the driver of OpenStack. Nova keeps no idempotency keys.
type Driver struct {
	// Version is the version of the build.
	Version string
}

// Describe describes the driver.
func (served Driver) Describe(host *driver.Host) driver.About {
	about := driver.About{
		Name: "openstack", Version: served.Version, Providers: []string{class.Provider}, ClassSchema: class.Schema,
		ConsistencyWindow: consistencyWindow,
	}
	if settings, err := readSettings(host.Settings()); err == nil {
		about.Hosts = settings.hosts()
	}
	return about
}

// ValidateClass reads the class like Create.
func (Driver) ValidateClass(_ *driver.Host, of driver.Class) ([]string, error) {
	_, warnings, err := class.Read(of)
	return warnings, err
}

// Create creates the server, or finds it.
func (Driver) Create(host *driver.Host, request driver.Request) (driver.Creation, error) {
	spec, _, err := class.Read(request.Class)
	if err != nil {
		return nil, err
	}
	of, err := open(host, request, spec.Region)
	if err != nil {
		return nil, err
	}
	return of.create(spec)
}

// Initialize writes the marks onto an adopted server, and lets its ports send from the pods' addresses.
func (Driver) Initialize(host *driver.Host, request driver.Request) (driver.VM, error) {
	spec, _, err := class.Read(request.Class)
	if err != nil {
		return driver.VM{}, err
	}
	settings, err := readSettings(host.Settings())
	if err != nil {
		return driver.VM{}, err
	}
	if isComplete(spec, settings, request) {
		return driver.VM{}, driver.Failed(driver.Unimplemented, "nothing to initialize: the port was created with the pods' addresses")
	}
	of, err := open(host, request, regionOf(request, spec.Region))
	if err != nil {
		return driver.VM{}, err
	}
	return of.initialize(spec)
}

// Delete removes the server, and the port and the volume that were created for it.
func (Driver) Delete(host *driver.Host, request driver.Request) (driver.Deletion, error) {
	of, err := openInPart(host, request)
	if err != nil {
		return nil, err
	}
	progress, err := of.remove()
	switch {
	case err != nil:
		return nil, notMissing(err)
	case progress != nil:
		return *progress, nil
	}
	return driver.Deleted{LastKnownState: of.state.text()}, nil
}

// GetStatus returns the state of the server.
func (Driver) GetStatus(host *driver.Host, request driver.Request) (driver.VM, error) {
	of, err := openInPart(host, request)
	if err != nil {
		return driver.VM{}, err
	}
	server, err := of.locate()
	if err != nil {
		return driver.VM{}, err
	}
	if of.marks.adopts(*server) {
		return driver.VM{}, &driver.Error{Code: driver.Uninitialized, ProviderID: providerID(of.cloud.Endpoints.Region, server.ID),
			NodeName: server.Name, Message: "the server " + server.ID + " is adopted and has no marks of this cluster yet"}
	}
	if err := of.unfinished(*server); err != nil {
		return driver.VM{}, err
	}
	return of.vm(*server), nil
}

// Reboot restarts the server.
func (Driver) Reboot(host *driver.Host, request driver.Request) error {
	of, err := openInPart(host, request)
	if err != nil {
		return err
	}
	server, err := of.locate()
	if err != nil {
		return err
	}
	return of.cloud.RebootServer(server.ID)
}

// List returns one page of the cluster's servers.
func (Driver) List(host *driver.Host, of driver.Class, cluster, token string) (driver.Page, error) {
	settings, err := readSettings(host.Settings())
	if err != nil {
		return driver.Page{}, err
	}
	region := class.ReadInPart(of).Region
	identity, err := settings.keystone(host, region)
	if err != nil {
		return driver.Page{}, err
	}
	connection, err := cloud.Connect(host, identity, region, nil)
	if err != nil {
		return driver.Page{}, err
	}
	servers, next, err := connection.ServerPage(token)
	if err != nil {
		return driver.Page{}, err
	}
	marks := marks{cluster: cluster, adopted: settings.adopted(cluster)}
	page := driver.Page{Next: next}
	for _, server := range servers {
		if exists(server) && (server.Metadata[clusterMark] == cluster || marks.adopts(server)) {
			page.Machines = append(page.Machines, listed(connection.Endpoints.Region, server))
		}
	}
	return page, nil
}

// GetVolumeIDs reads Cinder's ids.
func (Driver) GetVolumeIDs(_ *driver.Host, specs []string) ([]string, error) {
	ids := make([]string, len(specs))
	for index, spec := range specs {
		ids[index] = volumeID(spec)
	}
	return ids, nil
}

// NodeID returns the id that OpenStack's cloud controller manager writes into the Node.
func (Driver) NodeID(host *driver.Host, _ driver.Request, vm driver.VM) (string, error) {
	settings, err := readSettings(host.Settings())
	if err != nil {
		return "", err
	}
	region, id, isKnown := parts(vm.ProviderID)
	if !isKnown {
		return "", driver.Failed(driver.Internal, "the provider id is not one of this driver")
	}
	return settings.nodeID(region, id), nil
}

// Place returns the class for one availability zone.
func (Driver) Place(_ *driver.Host, of driver.Class, failureDomain string) (string, error) {
	return class.Place(of, failureDomain)
}

// NodeCapacity reads the flavor, and the architecture of the image.
func (Driver) NodeCapacity(host *driver.Host, of driver.Class) (driver.NodeResources, error) {
	spec, _, err := class.Read(of)
	if err != nil {
		return driver.NodeResources{}, err
	}
	settings, err := readSettings(host.Settings())
	if err != nil {
		return driver.NodeResources{}, err
	}
	identity, err := settings.keystone(host, spec.Region)
	if err != nil {
		return driver.NodeResources{}, err
	}
	connection, err := cloud.Connect(host, identity, spec.Region, nil)
	if err != nil {
		return driver.NodeResources{}, err
	}
	flavor, err := connection.FlavorNamed(spec.FlavorName)
	if err != nil {
		return driver.NodeResources{}, err
	}
	architecture := ""
	if spec.ImageID != "" {
		architecture, err = connection.Architecture(spec.ImageID)
	} else if image, found := connection.ImageNamed(spec.ImageName); found == nil {
		architecture = cloud.ArchitectureOf(image.Architecture)
	} else {
		err = found
	}
	if err != nil {
		return driver.NodeResources{}, err
	}
	return resources(*flavor, spec, architecture), nil
}

// machine is one Machine during one call.
type machine struct {
	host    *driver.Host
	cloud   *cloud.Cloud
	request driver.Request
	marks   marks
	state   state
	// part is what is readable of the class.
	part class.Part
}

// open connects to the region in which the Machine's server is.
func open(host *driver.Host, request driver.Request, region string) (*machine, error) {
	settings, err := readSettings(host.Settings())
	if err != nil {
		return nil, err
	}
	identity, err := settings.keystone(host, region)
	if err != nil {
		return nil, err
	}
	state := parseState(request.Machine.LastKnownState)
	connection, err := cloud.Connect(host, identity, region, state.endpoints(region))
	if err != nil {
		return nil, err
	}
	state.keep(connection.Endpoints)
	part := class.ReadInPart(request.Class)
	return &machine{
		host: host, cloud: connection, request: request, part: part, state: state,
		marks: marks{
			cluster: request.Cluster, uid: request.Machine.UID, name: request.Machine.Name,
			adopted: settings.adopted(request.Cluster), ofClass: part.Keys,
		},
	}, nil
}

// openInPart needs no readable class.
func openInPart(host *driver.Host, request driver.Request) (*machine, error) {
	return open(host, request, regionOf(request, class.ReadInPart(request.Class).Region))
}

// regionOf prefers the region in which the server was created: the class may have moved to another one since.
func regionOf(request driver.Request, ofClass string) string {
	if region, _, isKnown := parts(request.Machine.ProviderID); isKnown && region != "" {
		return region
	}
	if region := parseState(request.Machine.LastKnownState).Region; region != "" {
		return region
	}
	return ofClass
}
