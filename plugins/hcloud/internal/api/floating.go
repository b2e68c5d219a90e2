package api

import (
	"strconv"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

// FloatingIP returns a Floating IP. Nil: Hetzner does not know the id.
func (of *Cloud) FloatingIP(id int64) (*hcloud.FloatingIP, error) {
	address, _, err := of.client.FloatingIP.GetByID(wanting(oneFloatingIP), id)
	return address, failed(of.reads("read the Floating IP"), err)
}

// FloatingIPsWith returns all Floating IPs that a label selector finds.
func (of *Cloud) FloatingIPsWith(selector string) ([]*hcloud.FloatingIP, error) {
	return of.searchFloatingIPs(hcloud.FloatingIPListOpts{ListOpts: hcloud.ListOpts{LabelSelector: selector}})
}

// FloatingIPsNamed returns the Floating IPs with this name.
func (of *Cloud) FloatingIPsNamed(name string) ([]*hcloud.FloatingIP, error) {
	return of.searchFloatingIPs(hcloud.FloatingIPListOpts{Name: name})
}

func (of *Cloud) searchFloatingIPs(options hcloud.FloatingIPListOpts) ([]*hcloud.FloatingIP, error) {
	options.PerPage = pageEntries
	attempt := of.reads("look for the Floating IP")
	return everyPage(attempt, func(page int) ([]*hcloud.FloatingIP, *hcloud.Response, error) {
		options.Page = page
		return of.client.FloatingIP.List(wanting(floatingIPs), options)
	})
}

// CreateFloatingIP creates an IPv4 Floating IP and assigns it to a server.
func (of *Cloud) CreateFloatingIP(name string, server int64, labels map[string]string) error {
	options := hcloud.FloatingIPCreateOpts{
		Type: hcloud.FloatingIPTypeIPv4, Name: &name, Server: &hcloud.Server{ID: server}, Labels: labels,
	}
	_, _, err := of.client.FloatingIP.Create(wanting(oneFloatingIP), options)
	return failed(of.changes("create the Floating IP"), err)
}

// LabelFloatingIP replaces the labels of a Floating IP.
func (of *Cloud) LabelFloatingIP(id int64, labels map[string]string) error {
	options := hcloud.FloatingIPUpdateOpts{Labels: labels}
	_, _, err := of.client.FloatingIP.Update(wanting(oneFloatingIP), &hcloud.FloatingIP{ID: id}, options)
	return failed(of.changes("label the Floating IP"), err)
}

// AssignFloatingIP assigns a Floating IP to a server.
func (of *Cloud) AssignFloatingIP(id, server int64) error {
	_, _, err := of.client.FloatingIP.Assign(wanting(oneAction), &hcloud.FloatingIP{ID: id}, &hcloud.Server{ID: server})
	return failed(of.changes("assign the Floating IP"), err)
}

// DeleteFloatingIP deletes a Floating IP, which unassigns it. If it does not exist, that is success.
func (of *Cloud) DeleteFloatingIP(id int64) error {
	_, err := of.client.FloatingIP.Delete(wanting(nothing), &hcloud.FloatingIP{ID: id})
	return unlessAbsent(failed(of.changes("delete the Floating IP"), err))
}

func quantity(number int64, unit string) string { return strconv.FormatInt(number, 10) + unit }
