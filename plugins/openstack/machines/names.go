package machines

import (
	"fmt"
	"strings"

	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	idPrefix  = "openstack:///"
	csiDriver = "cinder.csi.openstack.org"
)

// providerID returns openstack:///REGION/ID.
func providerID(region, id string) string { return idPrefix + region + "/" + id }

// parts returns region and id of a provider id; false if it is not one of this cloud.
func parts(providerID string) (region, id string, is bool) {
	rest, is := strings.CutPrefix(providerID, idPrefix)
	at := strings.LastIndexByte(rest, '/')
	if !is || at < 1 || !isPlain(rest[at+1:]) {
		return "", "", false
	}
	return rest[:at], rest[at+1:], true
}

// isPlain is true for text that can be a segment of a URL as it is.
func isPlain(id string) bool {
	for _, character := range []byte(id) {
		isLetter := character|0x20 >= 'a' && character|0x20 <= 'z'
		if !isLetter && !(character >= '0' && character <= '9') && character != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 64
}

// vm converts a server. Its Node registers under the server's name.
func (of *machine) vm(server cloud.Server) driver.VM {
	shown := driver.VM{
		ProviderID: providerID(of.cloud.Endpoints.Region, server.ID), NodeName: of.marks.name, State: stateOf(server),
		Addresses: cloud.Addresses(server), FailureDomain: server.AvailabilityZone,
	}
	if server.Status == "ERROR" {
		shown.Conditions = []driver.Condition{{Kind: "Healthy", Status: "False", Reason: "ServerInError",
			Message: driver.Quoted("Nova shows the server in state ERROR: " + server.Fault.Message)}}
	}
	return shown
}

func stateOf(server cloud.Server) driver.VMState {
	if isLeaving(server) {
		return driver.VMStopping
	}
	switch server.Status {
	case "BUILD":
		return driver.VMPending
	case "ACTIVE", "REBOOT", "HARD_REBOOT", "PASSWORD", "MIGRATING", "RESIZE", "VERIFY_RESIZE", "REVERT_RESIZE", "REBUILD":
		return driver.VMRunning
	case "SHUTOFF", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED", "RESCUE", "ERROR":
		return driver.VMStopped
	}
	return driver.VMUnknown
}

func listed(region string, server cloud.Server) driver.Listed {
	return driver.Listed{
		ProviderID: providerID(region, server.ID), MachineName: server.Name, MachineUID: server.Metadata[uidMark],
		Created: server.Created,
	}
}

// volumeID returns Cinder's id of a PersistentVolume; empty if it is of another kind, or unreadable.
func volumeID(spec string) string {
	var volume struct {
		Cinder struct {
			VolumeID string `json:"volumeID"`
		} `json:"cinder"`
		CSI struct {
			Driver       string `json:"driver"`
			VolumeHandle string `json:"volumeHandle"`
		} `json:"csi"`
	}
	if driver.ReadJSON([]byte(spec), &volume) != nil {
		return ""
	}
	if volume.Cinder.VolumeID != "" {
		return volume.Cinder.VolumeID
	}
	if volume.CSI.Driver == csiDriver {
		return volume.CSI.VolumeHandle
	}
	return ""
}

func resources(flavor cloud.Flavor, spec class.Spec, architecture string) driver.NodeResources {
	all := map[string]string{"cpu": fmt.Sprint(flavor.VCPUs), "memory": fmt.Sprintf("%dMi", flavor.RAM)}
	disk := flavor.Disk
	if spec.RootDiskGB > 0 {
		disk = spec.RootDiskGB
	}
	if disk > 0 {
		all["ephemeral-storage"] = fmt.Sprintf("%dGi", disk)
	}
	return driver.NodeResources{Resources: all, Architecture: architecture, OperatingSystem: "linux"}
}
