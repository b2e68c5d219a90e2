package cloud

import (
	"context"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	// PageSize is how many servers one page of a listing has at most. Clouds may have smaller limits.
	PageSize = 500
	// A search by name has a handful of results.
	searchPages = 20
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
	to, marker := doing("search the server", reads, "servers"), ""
	var all []Server
	for range searchPages {
		// Nova takes the name for a regular expression; names of Machines have one character that means more.
		options := servers.ListOpts{Name: "^" + strings.ReplaceAll(name, ".", `\.`) + "$", Marker: marker, Limit: PageSize}
		page, next, err := of.serverPage(to, options)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		marker = next
	}
	return nil, to.Unexpected("has no end")
}

// ServerPage returns one page of all servers, and the marker of the next page; empty at the end.
func (of *Cloud) ServerPage(marker string) ([]Server, string, error) {
	to := doing("list the servers", reads, "servers")
	return of.serverPage(to, servers.ListOpts{Marker: marker, Limit: PageSize})
}

// serverPage sends one request. The marker is the last id of the page: the link to the next page may have another
// scheme or host than the grants allow, where a proxy is in between.
func (of *Cloud) serverPage(to request, options servers.ListOpts) (all []Server, next string, err error) {
	err = servers.List(of.compute(), options).EachPage(to.context(), func(_ context.Context, page pagination.Page) (bool, error) {
		if all, err = servers.ExtractServers(page); err != nil {
			return false, err
		}
		next, err = page.NextPageURL()
		return false, err
	})
	if err = to.failed(err); err != nil {
		return nil, "", err
	}
	for _, server := range all {
		if err := wellFormed(to, server); err != nil {
			return nil, "", err
		}
		if options.Marker != "" && server.ID == options.Marker {
			return nil, "", to.Unexpected("repeats a page")
		}
	}
	if next != "" && len(all) > 0 {
		next = all[len(all)-1].ID
	}
	return all, next, nil
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
