package cloud

import (
	"sort"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// Port is a port of Neutron.
type Port = ports.Port

// PortsNamed returns all ports of the project with this name.
func (of *Cloud) PortsNamed(name string) ([]Port, error) {
	return of.ports(doing("search the port", reads, "ports"), ports.ListOpts{Name: name})
}

// PortsOf returns all ports of a server.
func (of *Cloud) PortsOf(server string) ([]Port, error) {
	return of.ports(doing("read the ports of the server", reads, "ports"), ports.ListOpts{DeviceID: server})
}

func (of *Cloud) ports(to request, options ports.ListOpts) ([]Port, error) {
	found, err := everyPage(to, func(marker string) pagination.Pager {
		options.Marker = marker
		return ports.List(of.network(), options)
	}, ports.ExtractPorts, func(one Port) string { return one.ID })
	if err != nil {
		return nil, err
	}
	for _, port := range found {
		if port.NetworkID == "" {
			return nil, to.Unexpected("has a port without network")
		}
	}
	return found, nil
}

// PortOptions are the properties of a port of a server.
type PortOptions struct {
	Name, Description string
	NetworkID         string
	SubnetIDs         []string
	SecurityGroupIDs  []string
	// PodCIDRs are ranges from which the port may send, too.
	PodCIDRs []string
}

// CreatePort creates a port with all its properties in one request. A port whose answer is lost is found by its name
// and its description, so that no server is in doubt.
func (of *Cloud) CreatePort(options PortOptions) (*Port, error) {
	to := doing("create the port", reads, "port")
	body := ports.CreateOpts{Name: options.Name, Description: options.Description, NetworkID: options.NetworkID,
		AllowedAddressPairs: pairs(options.PodCIDRs)}
	fixed := make([]ports.IP, 0, len(options.SubnetIDs))
	for _, subnet := range options.SubnetIDs {
		fixed = append(fixed, ports.IP{SubnetID: subnet})
	}
	body.FixedIPs = fixed
	if len(options.SecurityGroupIDs) > 0 {
		body.SecurityGroups = &options.SecurityGroupIDs
	}
	made, err := ports.Create(to.context(), of.network(), body).Extract()
	if err = to.failed(err); err != nil {
		return nil, err
	}
	if made.ID == "" {
		return nil, to.Unexpected("has a port without id")
	}
	return made, nil
}

// TagPort replaces the tags of a port.
func (of *Cloud) TagPort(id string, tags []string) error {
	to := doing("tag the port", reads, "tags")
	_, err := attributestags.ReplaceAll(to.context(), of.network(), "ports", id, attributestags.ReplaceAllOpts{Tags: tags}).Extract()
	return to.failed(err)
}

// DeletePort removes a port. A port that is gone is success.
func (of *Cloud) DeletePort(id string) error {
	to := doing("delete the port", reads, "")
	err := to.failed(ports.Delete(to.context(), of.network(), id).ExtractErr())
	if IsMissing(err) {
		return nil
	}
	return err
}

// AllowPods lets a port send from these ranges, too, and keeps all other pairs: Neutron replaces the whole list. Sends
// no request if nothing is missing.
func (of *Cloud) AllowPods(port Port, cidrs []string) error {
	missing := missingPairs(port, cidrs)
	if len(missing) == 0 {
		return nil
	}
	all := append(append([]ports.AddressPair{}, port.AllowedAddressPairs...), pairs(missing)...)
	to := doing("allow the pods' addresses on the port", changes, "port")
	_, err := ports.Update(to.context(), of.network(), port.ID, ports.UpdateOpts{AllowedAddressPairs: &all}).Extract()
	return to.failed(err)
}

func missingPairs(port Port, cidrs []string) []string {
	var missing []string
	for _, cidr := range cidrs {
		isThere := false
		for _, pair := range port.AllowedAddressPairs {
			isThere = isThere || pair.IPAddress == cidr
		}
		if !isThere {
			missing = append(missing, cidr)
		}
	}
	return missing
}

func pairs(cidrs []string) []ports.AddressPair {
	var all []ports.AddressPair
	for _, cidr := range cidrs {
		all = append(all, ports.AddressPair{IPAddress: cidr})
	}
	return all
}

// FitsPort is true if the port is in this network, with an address in each of these subnets and in no other.
func FitsPort(port Port, network string, subnets []string) bool {
	var own []string
	for _, address := range port.FixedIPs {
		own = append(own, address.SubnetID)
	}
	sort.Strings(own)
	if port.NetworkID != network || len(own) != len(subnets) {
		return false
	}
	for index, subnet := range own {
		if subnet != subnets[index] {
			return false
		}
	}
	return true
}

func sortedKeys(of map[string]any) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// isUUID is true for the form of ids in OpenStack.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for index, character := range []byte(text) {
		isDash := index == 8 || index == 13 || index == 18 || index == 23
		isHex := character >= '0' && character <= '9' || character >= 'a' && character <= 'f' || character >= 'A' && character <= 'F'
		if isDash != (character == '-') || !isDash && !isHex {
			return false
		}
	}
	return true
}
