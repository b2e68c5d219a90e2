package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/api"
	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The work of a call, for one cluster.
type machines struct {
	host    *driver.Host
	cloud   *api.Cloud
	cluster string
	// The value of the label that means this cluster.
	label string
	// The label of machine-controller-manager's servers that this cluster adopts; empty for none.
	adopted string
}

func machinesOf(host *driver.Host, cluster string) (machines, error) {
	cloud, err := api.Open(host)
	if err != nil {
		return machines{}, err
	}
	return machines{host, cloud, cluster, class.Label(cluster), cloud.Settings.Adopt[cluster]}, nil
}

// The result of a look at the Machine's id.
type look uint8

const (
	// The server belongs to the Machine.
	here look = iota
	// It belongs to another Machine of this cluster.
	elsewhere
	// Hetzner does not know the id: the server is gone, or reads do not show it yet.
	unseen
)

// Returns the state of the server. Changes nothing.
func (of machines) status(request driver.Request) (driver.VM, error) {
	marks := of.marksOf(request)
	if err := marks.check(); err != nil {
		return driver.VM{}, err
	}
	server, err := of.locate(request, marks)
	if err != nil {
		return driver.VM{}, err
	}
	if server == nil {
		return driver.VM{}, noServer(request)
	}
	if due := dueOf(server, request); due.isAny() {
		return driver.VM{}, &driver.Error{
			Code:       driver.Uninitialized,
			Message:    fmt.Sprintf("the server %d exists; due is to %s", server.ID, due),
			ProviderID: providerID(server),
			NodeName:   request.Machine.Name,
		}
	}
	return vmOf(server, request), nil
}

// Restarts the server.
func (of machines) reboot(request driver.Request) error {
	marks := of.marksOf(request)
	if err := marks.check(); err != nil {
		return err
	}
	server, err := of.locate(request, marks)
	if err != nil {
		return err
	}
	if server == nil {
		return noServer(request)
	}
	err = of.cloud.Reset(server.ID)
	if api.HasCode(err, hcloud.ErrorCodeNotFound) {
		return noServer(request)
	}
	return err
}

// Finds the server by id, else by uid, else by name. An id that leads to another Machine's server leads nowhere; one
// that leads to a server of another cluster, or without marks, is refused. Nil after a complete search: an id that this
// driver has noted and Hetzner does not know is one, since Hetzner gives no id twice.
func (of machines) locate(request driver.Request, marks marks) (*hcloud.Server, error) {
	if id := knownID(request); id != 0 {
		server, seen, err := of.look(id, marks)
		if err != nil || seen == here || (seen == unseen && id == launchedID(request)) {
			return server, err
		}
	}
	found, err := of.find(marks)
	if err != nil {
		return nil, err
	}
	return only(found)
}

func (of machines) look(id int64, marks marks) (*hcloud.Server, look, error) {
	server, err := of.cloud.Server(id)
	if err != nil {
		return nil, unseen, err
	}
	if server == nil {
		return nil, unseen, nil
	}
	switch marks.ownerOf(server) {
	case own:
		return server, here, nil
	case otherCluster:
		return nil, unseen, ofAnotherCluster(server)
	case nobody:
		return nil, unseen, marks.ofNobody(server)
	}
	of.host.Log().Info("the machine's id leads to another Machine's server, left alone", "server", fmt.Sprint(id))
	return nil, elsewhere, nil
}

// Returns the Machine's servers: by uid; if there are none, by name. A server with the name, the uid and another
// cluster's mark belongs to this Machine from before its control plane was moved. One with the name and without marks
// may belong to it from before another program was replaced. In both cases the answer must not be that there is none.
func (of machines) find(marks marks) ([]*hcloud.Server, error) {
	marked, err := of.cloud.ServersWith(marks.selector())
	if err != nil {
		return nil, err
	}
	// Hetzner filters; a server that passes wrongly is still not ours.
	marked = slices.DeleteFunc(marked, func(server *hcloud.Server) bool { return !marks.areOn(server.Labels) })
	if len(marked) > 0 {
		return marked, nil
	}
	return of.findByName(marks)
}

func (of machines) findByName(marks marks) ([]*hcloud.Server, error) {
	named, err := of.cloud.ServersNamed(marks.name)
	if err != nil {
		return nil, err
	}
	var found []*hcloud.Server
	var refused error
	for _, server := range named {
		if server.Name != marks.name {
			continue
		}
		switch marks.ownerOf(server) {
		case own:
			// With another uid it belongs to an earlier Machine of this name: only an id proves a restored Machine.
			if uid, hasUID := server.Labels[uidLabel]; !hasUID || uid == marks.uid {
				found = append(found, server)
			}
		case otherCluster:
			if server.Labels[uidLabel] == marks.uid {
				refused = ofAnotherCluster(server)
			}
		case nobody:
			refused = marks.ofNobody(server)
		case neighbour:
		}
	}
	if len(found) == 0 {
		return nil, refused
	}
	return found, nil
}

// Returns the id of the stored server, else of one that a create has noted; zero for none.
func knownID(request driver.Request) int64 {
	if id, isKnown := serverID(request.Machine.ProviderID); isKnown {
		return id
	}
	return launchedID(request)
}

// Returns the server that this driver has created for the Machine, by its own note; zero for none. Unlike the provider
// id, nobody else writes it.
func launchedID(request driver.Request) int64 {
	noted, _ := stateOf(request)
	return noted.Server
}

// Returns the server that is not being deleted, else one that is.
func only(servers []*hcloud.Server) (*hcloud.Server, error) {
	var working []*hcloud.Server
	var ids []string
	for _, server := range servers {
		if server.Status != hcloud.ServerStatusDeleting {
			working = append(working, server)
			ids = append(ids, fmt.Sprint(server.ID))
		}
	}
	switch {
	case len(working) > 1:
		return nil, driver.Failed(driver.OutOfRange, fmt.Sprintf("%d servers carry this Machine's marks: %s; delete all but one",
			len(working), strings.Join(ids[:min(len(ids), 5)], ", ")))
	case len(working) == 1:
		return working[0], nil
	case len(servers) > 0:
		return servers[0], nil
	}
	return nil, nil
}

func noServer(request driver.Request) error {
	machine := request.Machine
	return driver.Failed(driver.NotFound, fmt.Sprintf("there is no server of Machine %s with uid %s", machine.Name, machine.UID))
}
