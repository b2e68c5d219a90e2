package machines

import (
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// build creates the parts of a server in their order, then the server.
func (of *machine) build(spec class.Spec) (driver.Creation, error) {
	userData, err := of.userData()
	if err != nil {
		return nil, err
	}
	flavor, err := of.cloud.FlavorNamed(spec.FlavorName)
	if err != nil {
		return nil, err
	}
	image := spec.ImageID
	if image == "" {
		found, err := of.cloud.ImageNamed(spec.ImageName)
		if err != nil {
			return nil, err
		}
		image = found.ID
	}
	options := cloud.ServerOptions{UserData: userData, CreateOpts: servers.CreateOpts{
		Name: of.marks.name, FlavorRef: flavor.ID, ImageRef: image, SecurityGroups: spec.SecurityGroups,
		AvailabilityZone: spec.AvailabilityZone, Metadata: of.marks.metadata(spec.Tags), ConfigDrive: spec.UseConfigDrive,
	}, KeyName: spec.KeyName}
	if spec.RootDiskGB > 0 {
		device, waiting, err := of.rootDisk(spec, image)
		if err != nil {
			return nil, err
		}
		if waiting != nil {
			return waiting, nil
		}
		// With a device Nova takes an image in addition for another disk.
		options.ImageRef = ""
		options.BlockDevice = []servers.BlockDevice{*device}
	}
	if options.Networks, err = of.networks(spec); err != nil {
		return nil, err
	}
	id, err := of.cloud.CreateServer(options, spec.ServerGroupID)
	if err != nil {
		return nil, err
	}
	of.host.Log().Info("server created", "server", id)
	of.state.Server, of.state.Created, of.state.Polls, of.state.IsOrdered = id, time.Now().UnixMilli(), 0, false
	return of.waiting("Nova is building the server"), nil
}

// userData returns a placeholder for the base64 of the user data; empty if there is none.
func (of *machine) userData() (string, error) {
	secret, err := of.host.UserData()
	if err != nil || secret == nil {
		return "", err
	}
	if encoded := (secret.Len() + 2) / 3 * 4; encoded > userDataBytes {
		return "", driver.Invalid(fmt.Sprintf("the user data has %d bytes in base64, and Nova takes %d: shorten it", encoded,
			userDataBytes))
	}
	return secret.Placeholder(driver.Base64)
}

// networks returns the networks of the server: one port of its own, or networks in which Nova creates the ports.
func (of *machine) networks(spec class.Spec) ([]servers.Network, error) {
	if spec.OwnsPort() {
		port, err := of.port(spec)
		return []servers.Network{{UUID: spec.NetworkID, Port: port}}, err
	}
	if spec.NetworkID != "" {
		return []servers.Network{{UUID: spec.NetworkID}}, nil
	}
	all := make([]servers.Network, 0, len(spec.Networks))
	for _, network := range spec.Networks {
		id, err := of.networkID(network)
		if err != nil {
			return nil, err
		}
		all = append(all, servers.Network{UUID: id})
	}
	return all, nil
}

func (of *machine) networkID(network class.Network) (string, error) {
	if network.ID != "" {
		return network.ID, nil
	}
	return of.cloud.NetworkNamed(network.Name)
}

// port returns the id of the Machine's port: one that an earlier call created, or a new one.
func (of *machine) port(spec class.Spec) (string, error) {
	found, err := of.cloud.PortsNamed(of.marks.name)
	if err != nil {
		return "", err
	}
	for _, port := range found {
		if port.Description != of.marks.describedPort() {
			continue
		}
		if port.DeviceID != "" {
			return "", inUse("port", port.ID, port.DeviceID)
		}
		if cloud.FitsPort(port, spec.NetworkID, spec.SubnetIDs) {
			// Without a request if the class has not changed.
			return port.ID, of.cloud.AllowPods(port, spec.PodCIDRs)
		}
		of.host.Log().Info("the port of an earlier class is removed", "port", port.ID)
		if err := of.cloud.DeletePort(port.ID); err != nil {
			return "", err
		}
	}
	groups, err := of.cloud.SecurityGroups(spec.SecurityGroups)
	if err != nil {
		return "", err
	}
	of.state.HasPort = true
	port, err := of.cloud.CreatePort(cloud.PortOptions{
		Name: of.marks.name, Description: of.marks.describedPort(), NetworkID: spec.NetworkID, SubnetIDs: spec.SubnetIDs,
		SecurityGroupIDs: groups, PodCIDRs: spec.PodCIDRs,
	})
	if err != nil {
		return "", err
	}
	keys := class.KeysOf(spec.Tags)
	// machine-controller-manager's tags, for tools that look for them. The description proves whose the port is.
	if err := of.cloud.TagPort(port.ID, []string{keys.Cluster, keys.Role}); err != nil {
		return "", err
	}
	return port.ID, nil
}

// inUse is the error for a part that has a server although Nova lists none: it is proof of a server that must not get a
// second one beside it.
func inUse(what, id, server string) error {
	return &driver.Error{Code: driver.Aborted, MayHaveHappened: true, Message: fmt.Sprintf("the %s %s belongs to server %s, which Nova "+
		"does not list (yet): if this lasts, delete the Machine", what, id, driver.Quoted(server))}
}

// rootDisk returns the device to boot from, or the wait for it.
func (of *machine) rootDisk(spec class.Spec, image string) (*servers.BlockDevice, driver.Creation, error) {
	device := servers.BlockDevice{
		SourceType: servers.SourceImage, DestinationType: servers.DestinationVolume, UUID: image, VolumeSize: spec.RootDiskGB,
		// A server that somebody deletes by hand takes the volume along.
		DeleteOnTermination: true,
	}
	if !spec.OwnsVolume() {
		return &device, nil, nil
	}
	found, err := of.cloud.VolumesNamed(of.marks.name)
	if err != nil {
		return nil, nil, err
	}
	for _, volume := range found {
		if !of.marks.ownsVolume(volume) || isUnmarked(volume.Metadata) {
			continue
		}
		switch {
		case len(volume.Attachments) > 0:
			return nil, nil, inUse("volume", volume.ID, volume.Attachments[0].ServerID)
		case volume.Status == "creating" || volume.Status == "downloading":
			return nil, of.waiting("Cinder is creating the volume " + volume.ID), nil
		case volume.Status == "deleting":
			return nil, of.waiting("Cinder is removing the volume " + volume.ID), nil
		case volume.Status == "available" && volume.Size == spec.RootDiskGB && volume.VolumeType == spec.RootDiskType:
			device.SourceType, device.UUID = servers.SourceVolume, volume.ID
			return &device, nil, nil
		case volume.Status == "available":
			of.host.Log().Info("the volume of an earlier class is removed", "volume", volume.ID)
			return nil, of.waiting("Cinder is removing the volume of an earlier class"), of.cloud.DeleteVolume(volume.ID)
		case volume.Status == "error":
			creation, err := of.fail(cloud.FaultError("volume", "Cinder shows the volume "+volume.ID+" in state error"))
			return nil, creation, err
		default:
			return nil, of.waiting("the volume " + volume.ID + " is " + driver.Quoted(volume.Status)), nil
		}
	}
	of.state.HasVolume = true
	err = of.cloud.CreateVolume(cloud.VolumeOptions{
		Name: of.marks.name, Type: spec.RootDiskType, Zone: spec.AvailabilityZone, ImageID: image, SizeGB: spec.RootDiskGB,
		Metadata: of.marks.metadata(spec.Tags),
	})
	if err != nil {
		return nil, nil, err
	}
	return nil, of.waiting("Cinder is creating the volume"), nil
}
