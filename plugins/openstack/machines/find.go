package machines

import (
	"fmt"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// locate returns the Machine's server: by its id, else by its name and marks. It never returns nil without an error.
func (of *machine) locate() (*cloud.Server, error) {
	if _, id, isKnown := parts(of.request.Machine.ProviderID); isKnown {
		server, err := of.cloud.Server(id)
		if err != nil {
			return nil, err
		}
		// Nova gives an id to one server only, so this answer is complete.
		if server == nil || !exists(*server) {
			return nil, of.noServer()
		}
		switch of.marks.byID(*server) {
		case own:
			return server, nil
		case otherClusters, unproven:
			return nil, of.refusal(*server)
		case neighbours, strangers:
			of.host.Log().Info("the provider id leads to another machine's server, left alone", "server", server.ID)
		}
	}
	found, err := of.named()
	if err != nil {
		return nil, err
	}
	working := found[:0:0]
	for _, server := range found {
		if !isLeaving(server) {
			working = append(working, server)
		}
	}
	switch {
	case len(working) > 1:
		return nil, driver.Failed(driver.OutOfRange, fmt.Sprintf("%d servers carry this Machine's uid: %s; delete all but one",
			len(working), ids(working)))
	case len(working) == 1:
		return &working[0], nil
	case len(found) > 0:
		return &found[0], nil
	}
	return nil, of.noServer()
}

// unfinished is the error for a server of a create whose answer was lost: the Machine has not stored it, and it may
// never run. One that Nova gave up counts as absent, so that the host creates again: that removes it, and reports the
// reason. A deletion reaches it either way.
func (of *machine) unfinished(server cloud.Server) error {
	if _, _, isStored := parts(of.request.Machine.ProviderID); isStored {
		return nil
	}
	switch stageOf(server) {
	case building:
		return &driver.Error{Code: driver.Unavailable, RetryAfter: 2 * time.Second, Message: "Nova is still building the server " + server.ID}
	case failed:
		of.host.Log().Info("a server that never ran counts as absent", "server", server.ID)
		return of.noServer()
	case made, leaving:
	}
	return nil
}

// named returns the Machine's own servers with its name. A server that may be its own, or that another cluster holds,
// is an error: it must not count as absent.
func (of *machine) named() ([]cloud.Server, error) {
	all, err := of.cloud.ServersNamed(of.marks.name)
	if err != nil {
		return nil, err
	}
	var found []cloud.Server
	for _, server := range all {
		if !exists(server) {
			continue
		}
		switch of.marks.byName(server) {
		case own:
			found = append(found, server)
		case otherClusters, unproven:
			return nil, of.refusal(server)
		case neighbours, strangers:
		}
	}
	return found, nil
}

// refusal is the error for a server that is neither the Machine's nor certainly another's.
func (of *machine) refusal(server cloud.Server) error {
	if cluster, isMarked := server.Metadata[clusterMark]; isMarked {
		return driver.Failed(driver.FailedPrecondition, fmt.Sprintf(
			"the server %s carries the mark of cluster %s, left alone: start the host with --cluster-id=%s", server.ID,
			driver.Quoted(cluster), driver.Quoted(cluster)))
	}
	return driver.Failed(driver.FailedPrecondition, fmt.Sprintf("the server %s carries no cluster's mark, left alone: if it is "+
		"this Machine's, write adopt into the plugin's settings with the keys of its tags; else correct the Machine", server.ID))
}

func (of *machine) noServer() error {
	return driver.Failed(driver.NotFound, fmt.Sprintf("there is no server of Machine %s with uid %s in region %s", of.marks.name,
		of.marks.uid, driver.Quoted(of.cloud.Endpoints.Region)))
}

func ids(servers []cloud.Server) string {
	var all []string
	for _, server := range servers[:min(len(servers), 5)] {
		all = append(all, server.ID)
	}
	return strings.Join(all, ", ")
}

// notMissing converts the error of a request whose object is missing: `delete` never answers that.
func notMissing(err error) error {
	if own, is := err.(*driver.Error); is && own.Code == driver.NotFound {
		own.Code = driver.Aborted
	}
	return err
}
