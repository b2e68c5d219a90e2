package api

import "github.com/hetznercloud/hcloud-go/v2/hcloud"

// Server returns a server. Nil: Hetzner does not know the id.
func (of *Cloud) Server(id int64) (*hcloud.Server, error) {
	server, _, err := of.client.Server.GetByID(wanting(oneServer), id)
	return server, failed(of.reads("read the server"), err)
}

// ServersWith returns all servers that a label selector finds.
func (of *Cloud) ServersWith(selector string) ([]*hcloud.Server, error) {
	return of.search(hcloud.ServerListOpts{ListOpts: hcloud.ListOpts{LabelSelector: selector}})
}

// ServersNamed returns the servers with this name: names are unique in a project, so there is at most one.
func (of *Cloud) ServersNamed(name string) ([]*hcloud.Server, error) {
	return of.search(hcloud.ServerListOpts{Name: name})
}

func (of *Cloud) search(options hcloud.ServerListOpts) ([]*hcloud.Server, error) {
	options.PerPage = pageEntries
	return everyPage(of.reads("look for the server"), func(page int) ([]*hcloud.Server, *hcloud.Response, error) {
		options.Page = page
		return of.client.Server.List(wanting(servers), options)
	})
}

// ServerPage returns one page of the servers that a label selector finds, and the number of the next one, if any.
// Sorted by id, new servers come last, so that they move none to another page.
func (of *Cloud) ServerPage(selector string, page int) (found []*hcloud.Server, next int, err error) {
	attempt := of.reads("list servers")
	options := hcloud.ServerListOpts{
		ListOpts: hcloud.ListOpts{Page: page, PerPage: pageEntries, LabelSelector: selector}, Sort: []string{"id:asc"},
	}
	found, response, err := of.client.Server.List(wanting(servers), options)
	if err != nil {
		return nil, 0, failed(attempt, err)
	}
	next, err = following(attempt, page, response)
	return found, next, err
}

// Create creates a server, and returns it with the actions that are at work on it.
func (of *Cloud) Create(options hcloud.ServerCreateOpts) (*hcloud.Server, []*hcloud.Action, error) {
	// The answer may hold a root password, which stays in the library.
	result, _, err := of.client.Server.Create(wanting(createdServer), options)
	if err != nil {
		return nil, nil, failed(of.changes("create the server"), err)
	}
	return result.Server, append([]*hcloud.Action{result.Action}, result.NextActions...), nil
}

// Delete orders the deletion of a server. If it does not exist, that is success.
func (of *Cloud) Delete(id int64) error {
	_, _, err := of.client.Server.DeleteWithResult(wanting(oneAction), &hcloud.Server{ID: id})
	return unlessAbsent(failed(of.changes("delete the server"), err))
}

// Label replaces the labels of a server.
func (of *Cloud) Label(id int64, labels map[string]string) (*hcloud.Server, error) {
	options := hcloud.ServerUpdateOpts{Labels: labels}
	server, _, err := of.client.Server.Update(wanting(oneServer), &hcloud.Server{ID: id}, options)
	return server, failed(of.changes("label the server"), err)
}

// PowerOn starts a server, and returns the action that is at work on it.
func (of *Cloud) PowerOn(id int64) (*hcloud.Action, error) {
	action, _, err := of.client.Server.Poweron(wanting(oneAction), &hcloud.Server{ID: id})
	return action, failed(of.changes("power the server on"), err)
}

// Reset restarts a server, as by its reset button.
func (of *Cloud) Reset(id int64) error {
	_, _, err := of.client.Server.Reset(wanting(oneAction), &hcloud.Server{ID: id})
	return failed(of.changes("reset the server"), err)
}

// Actions returns these actions. Actions that Hetzner does not know any more are left out. Unlike every other list,
// this one has no pages.
func (of *Cloud) Actions(ids []int64) ([]*hcloud.Action, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, _, err := of.client.Action.List(wanting(actions), hcloud.ActionListOpts{ID: ids})
	return found, unlessAbsent(failed(of.reads("read the actions of the server"), err))
}

// Only Hetzner's own `not_found` means that something does not exist.
func unlessAbsent(err error) error {
	if HasCode(err, hcloud.ErrorCodeNotFound) {
		return nil
	}
	return err
}
