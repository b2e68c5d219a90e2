package cloud

import (
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Server is a server of Nova.
type Server = servers.Server

// ServerOptions are the body of a create. UserData is a placeholder: the SDK's own option would encode it once more.
type ServerOptions struct {
	servers.CreateOpts
	UserData string
	// KeyName is the SSH key pair.
	KeyName string
}

// ToServerCreateMap adds both.
func (of ServerOptions) ToServerCreateMap() (map[string]any, error) {
	body, err := of.CreateOpts.ToServerCreateMap()
	if err != nil {
		return nil, err
	}
	server, _ := body["server"].(map[string]any)
	if of.UserData != "" {
		server["user_data"] = of.UserData
	}
	if of.KeyName != "" {
		server["key_name"] = of.KeyName
	}
	return body, nil
}

// serverGroup is the id of a server group; empty for none. The SDK's own type refuses ids that Nova accepts.
type serverGroup string

// ToSchedulerHintsMap returns the part of the body that names the group.
func (of serverGroup) ToSchedulerHintsMap() (map[string]any, error) {
	if of == "" {
		return nil, nil
	}
	return map[string]any{"os:scheduler_hints": map[string]any{"group": string(of)}}, nil
}

// Server returns a server by its id; nil if Nova says that there is none.
func (of *Cloud) Server(id string) (*Server, error) {
	to := doing("read the server", reads, "server")
	found, err := servers.Get(to.context(), of.compute(), id).Extract()
	if err = to.failed(err); IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found, wellFormed(to, *found)
}

// ServersNamed returns all servers with this name. It compares no names: the host masks each value of the Secret in
// answers, and a name may contain that of the project.
func (of *Cloud) ServersNamed(name string) ([]Server, error) {
	to := doing("search the server", reads, "servers")
	all, err := everyPage(to, func(marker string) pagination.Pager {
		// Nova takes the name for a regular expression; names of Machines have one character that means more.
		pattern := "^" + strings.ReplaceAll(name, ".", `\.`) + "$"
		return servers.List(of.compute(), servers.ListOpts{Name: pattern, Marker: marker, Limit: PageSize})
	}, servers.ExtractServers, serverID)
	if err != nil {
		return nil, err
	}
	return all, allWellFormed(to, all)
}

// ServerPage returns one page of all servers, and the marker of the next page; empty at the end.
func (of *Cloud) ServerPage(marker string) ([]Server, string, error) {
	to := doing("list the servers", reads, "servers")
	pager := servers.List(of.compute(), servers.ListOpts{Marker: marker, Limit: PageSize})
	all, next, err := onePage(to, pager, marker, servers.ExtractServers, serverID)
	if err != nil {
		return nil, "", err
	}
	return all, next, allWellFormed(to, all)
}

func serverID(of Server) string { return of.ID }

func allWellFormed(to request, all []Server) error {
	for _, server := range all {
		if err := wellFormed(to, server); err != nil {
			return err
		}
	}
	return nil
}

func wellFormed(to request, server Server) error {
	if server.ID == "" || server.Name == "" || server.Status == "" {
		return to.Unexpected("has a server without id, name or status")
	}
	return nil
}

// CreateServer asks Nova for a server, and returns its id. Nova works on it when this returns.
func (of *Cloud) CreateServer(options ServerOptions, group string) (string, error) {
	to := doing("create the server", changes, "server")
	made, err := servers.Create(to.context(), of.compute(), options, serverGroup(group)).Extract()
	if err = to.failed(err); err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", to.Unexpected("has a server without id")
	}
	return made.ID, nil
}

// DeleteServer orders a deletion. A server that is gone is success.
func (of *Cloud) DeleteServer(id string) error {
	to := doing("delete the server", changes, "")
	err := to.failed(servers.Delete(to.context(), of.compute(), id).ExtractErr())
	if IsMissing(err) {
		return nil
	}
	return err
}

// RebootServer restarts a server as by its reset button.
func (of *Cloud) RebootServer(id string) error {
	to := doing("reboot the server", changes, "")
	return to.failed(servers.Reboot(to.context(), of.compute(), id, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr())
}

// MarkServer adds metadata.
func (of *Cloud) MarkServer(id string, marks map[string]string) error {
	to := doing("mark the server", changes, "metadata")
	_, err := servers.UpdateMetadata(to.context(), of.compute(), id, servers.MetadataOpts(marks)).Extract()
	return to.failed(err)
}

// Addresses returns the addresses of a server, in the order of its networks' names.
func Addresses(server Server) []driver.Address {
	var all []driver.Address
	for _, network := range sortedKeys(server.Addresses) {
		list, _ := server.Addresses[network].([]any)
		for _, entry := range list {
			one, _ := entry.(map[string]any)
			address, _ := one["addr"].(string)
			kind := "InternalIP"
			if one["OS-EXT-IPS:type"] == "floating" {
				kind = "ExternalIP"
			}
			// The contract's limit.
			if address != "" && len(all) < 100 {
				all = append(all, driver.Address{Kind: kind, Address: address})
			}
		}
	}
	return all
}
