package machine

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	idPrefix     = "hcloud:///"
	nodeIDPrefix = "hcloud://"
	csiDriver    = "csi.hetzner.cloud"
)

var statesOf = map[hcloud.ServerStatus]driver.VMState{
	hcloud.ServerStatusInitializing: driver.VMPending,
	hcloud.ServerStatusStarting:     driver.VMPending,
	hcloud.ServerStatusRebuilding:   driver.VMPending,
	hcloud.ServerStatusRunning:      driver.VMRunning,
	hcloud.ServerStatusMigrating:    driver.VMRunning,
	hcloud.ServerStatusStopping:     driver.VMStopping,
	hcloud.ServerStatusDeleting:     driver.VMStopping,
	hcloud.ServerStatusOff:          driver.VMStopped,
}

// Returns the zone in which the server was asked for: its label, since the location alone lacks the data center that
// older classes and ids name.
func zoneOf(server *hcloud.Server) string {
	if zone := server.Labels[zoneLabel]; zone != "" {
		return zone
	}
	return server.Location.Name
}

// Returns hcloud:///ZONE/ID.
func providerID(server *hcloud.Server) string {
	return fmt.Sprintf("%s%s/%d", idPrefix, zoneOf(server), server.ID)
}

func nodeID(id int64) string { return nodeIDPrefix + strconv.FormatInt(id, 10) }

// Returns the id of the server in a provider id: this driver's, or that of Hetzner's cloud controller manager.
func serverID(providerID string) (id int64, isKnown bool) {
	rest, isOwn := strings.CutPrefix(providerID, idPrefix)
	number := rest
	if isOwn {
		var zone string
		zone, number, _ = strings.Cut(rest, "/")
		isOwn = zone != ""
	} else {
		number, isOwn = strings.CutPrefix(providerID, nodeIDPrefix)
	}
	id, err := strconv.ParseInt(number, 10, 64)
	// Only the spelling that a driver returns is an id: no sign and no leading zero.
	isKnown = isOwn && err == nil && id > 0 && strconv.FormatInt(id, 10) == number
	return id, isKnown
}

// Converts a server. Its Node registers under the Machine's name, which is the server's host name.
func vmOf(server *hcloud.Server, request driver.Request) driver.VM {
	shown := driver.VM{
		ProviderID:    providerID(server),
		NodeName:      request.Machine.Name,
		State:         statesOf[server.Status],
		FailureDomain: zoneOf(server),
		Addresses:     []driver.Address{{Kind: "Hostname", Address: request.Machine.Name}},
	}
	add := func(kind string, address net.IP) {
		if len(address) > 0 && !address.IsUnspecified() {
			shown.Addresses = append(shown.Addresses, driver.Address{Kind: kind, Address: address.String()})
		}
	}
	for _, private := range server.PrivateNet {
		add("InternalIP", private.IP)
	}
	add("ExternalIP", server.PublicNet.IPv4.IP)
	add("ExternalIP", firstOf(server.PublicNet.IPv6.IP))
	return shown
}

// Returns the address that a server has in its IPv6 network: the first one.
func firstOf(network net.IP) net.IP {
	if len(network) != net.IPv6len {
		return nil
	}
	address := append(net.IP{}, network...)
	address[net.IPv6len-1] |= 1
	return address
}

// Converts a server of a listing.
func listed(server *hcloud.Server) driver.Listed {
	return driver.Listed{
		ProviderID:  providerID(server),
		MachineName: server.Name,
		MachineUID:  server.Labels[uidLabel],
		Created:     server.Created,
	}
}

// Returns the volume handle of a PersistentVolume's spec; empty if it is of another kind, or unreadable.
func volumeID(spec string) string {
	var volume struct {
		CSI struct {
			Driver       string `json:"driver"`
			VolumeHandle string `json:"volumeHandle"`
		} `json:"csi"`
	}
	if driver.ReadJSON([]byte(spec), &volume) != nil || volume.CSI.Driver != csiDriver {
		return ""
	}
	return volume.CSI.VolumeHandle
}
