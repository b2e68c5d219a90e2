package machines

import (
	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// isComplete is true if a server has everything from its create: its own port has the pods' addresses, and there are no
// servers of another program to mark.
func isComplete(spec class.Spec, settings settings, request driver.Request) bool {
	return settings.adopted(request.Cluster) == nil && (spec.OwnsPort() || len(podNetworks(spec)) == 0 && spec.NetworkID == "")
}

func podNetworks(spec class.Spec) []class.Network {
	var all []class.Network
	for _, network := range spec.Networks {
		if network.IsPodNetwork {
			all = append(all, network)
		}
	}
	return all
}

// initialize marks an adopted server, and lets the ports of pod networks send from the pods' addresses.
func (of *machine) initialize(spec class.Spec) (driver.VM, error) {
	server, err := of.locate()
	if err != nil {
		return driver.VM{}, err
	}
	if of.marks.adopts(*server) {
		if err := of.cloud.MarkServer(server.ID, map[string]string{clusterMark: of.marks.cluster, uidMark: of.marks.uid}); err != nil {
			return driver.VM{}, err
		}
		of.host.Log().Info("server adopted", "server", server.ID)
	}
	if err := of.allowPods(*server, spec); err != nil {
		return driver.VM{}, err
	}
	return of.vm(*server), nil
}

func (of *machine) allowPods(server cloud.Server, spec class.Spec) error {
	wanted := map[string]bool{}
	if spec.NetworkID != "" {
		wanted[spec.NetworkID] = true
	}
	for _, network := range podNetworks(spec) {
		id, err := of.networkID(network)
		if err != nil {
			return err
		}
		wanted[id] = true
	}
	if len(wanted) == 0 {
		return nil
	}
	ports, err := of.cloud.PortsOf(server.ID)
	if err != nil {
		return err
	}
	if len(ports) == 0 {
		return &driver.Error{Code: driver.Unavailable, Message: "Neutron does not show the ports of server " + server.ID + " yet"}
	}
	for _, port := range ports {
		if wanted[port.NetworkID] {
			if err := of.cloud.AllowPods(port, spec.PodCIDRs); err != nil {
				return err
			}
		}
	}
	return nil
}
