package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/api"
	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The time until the next attempt to delete a locked object: an action holds the lock, usually for seconds.
const lockRetry = 3 * time.Second

// Deletes every server with the Machine's marks, the one to which its id leads, and its Floating IPs. One refusal does
// not prevent the other orders.
func (of machines) delete(request driver.Request) (driver.Deletion, error) {
	marks := of.marksOf(request)
	if err := marks.check(); err != nil {
		return nil, err
	}
	found, err := of.toDelete(request, marks)
	if err != nil {
		return nil, err
	}
	var orders orders
	// The uids on the servers: a Machine that was restored from a backup has another one than its server and the
	// server's Floating IP.
	uids := []string{marks.uid}
	var attached []int64
	for _, server := range found {
		for _, address := range server.PublicNet.FloatingIPs {
			attached = append(attached, address.ID)
		}
		if uid := server.Labels[uidLabel]; uid != "" && !slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
		if server.Status != hcloud.ServerStatusDeleting {
			orders.note(of.cloud.Delete(server.ID))
			of.host.Log().Info("server ordered away", "server", fmt.Sprint(server.ID))
		}
	}
	if len(attached) > 0 || mayHaveFloatingIP(request) {
		addresses, err := of.floatingIPsOf(request, marks, uids, attached)
		orders.note(err)
		for _, address := range addresses {
			orders.note(of.cloud.DeleteFloatingIP(address.ID))
			of.host.Log().Info("Floating IP deleted", "address", fmt.Sprint(address.ID))
		}
	}
	return orders.outcome(request)
}

// Deletes this server and no other. The Machine's Floating IP stays: there is one for a Machine, and the server that
// the Machine keeps gets it in initialize.
func (of machines) deleteOne(request driver.Request, providerID string) error {
	marks := of.marksOf(request)
	if err := marks.check(); err != nil {
		return err
	}
	id, isKnown := serverID(providerID)
	switch {
	case !isKnown:
		return driver.Failed(driver.InvalidArgument, driver.Quoted(providerID)+" is no id of this driver")
	case id == knownID(request):
		return driver.Failed(driver.FailedPrecondition, fmt.Sprintf("the server %d is the one that the Machine keeps, left alone", id))
	}
	server, err := of.cloud.Server(id)
	if err != nil || server == nil {
		return err
	}
	switch marks.ownerOf(server) {
	case otherCluster:
		return ofAnotherCluster(server)
	case nobody:
		return marks.ofNobody(server)
	case own, neighbour:
	}
	if server.Status == hcloud.ServerStatusDeleting {
		return nil
	}
	of.host.Log().Info("second server ordered away", "server", fmt.Sprint(id))
	return of.cloud.Delete(id)
}

// Returns the servers to delete. For a server that reads do not show, an entry with its id is enough: reads may be
// stale and orders are not. Without a read, only a server that this driver has noted is its own.
func (of machines) toDelete(request driver.Request, marks marks) ([]*hcloud.Server, error) {
	found, err := of.find(marks)
	if err != nil {
		return nil, err
	}
	id := knownID(request)
	hasIt := func(server *hcloud.Server) bool { return server.ID == id }
	if id == 0 || slices.ContainsFunc(found, hasIt) {
		return found, nil
	}
	server, seen, err := of.look(id, marks)
	switch {
	case err != nil:
		return nil, err
	case seen == here:
		return append(found, server), nil
	case seen == unseen && launchedID(request) == id:
		return append(found, &hcloud.Server{ID: id}), nil
	}
	return found, nil
}

// Reports whether a Floating IP may exist beside those that the server shows: one whose assignment was lost, or one
// of a server that is gone. Only a Machine whose create noted that it asked for none, and whose class asks for none,
// has none.
func mayHaveFloatingIP(request driver.Request) bool {
	noted, isKnown := stateOf(request)
	pool, isReadable := class.FloatingPool(request.Class)
	return !isKnown || noted.Floating || !isReadable || pool != ""
}

// Returns the Machine's Floating IPs: those with its marks, and the one that the cluster adopts. An address that a
// server shows and a search does not is read by its id: a search may be stale, and the address may be a stranger's.
func (of machines) floatingIPsOf(request driver.Request, marks marks, uids []string, attached []int64) ([]*hcloud.FloatingIP, error) {
	var all []*hcloud.FloatingIP
	take := func(addresses ...*hcloud.FloatingIP) {
		for _, address := range addresses {
			// Hetzner filters; an address that passes wrongly is still not ours.
			isOurs := address.Labels[clusterLabel] == marks.label && slices.Contains(uids, address.Labels[uidLabel])
			if isOurs || marks.adoptsFloatingIP(address) {
				all = append(all, address)
			}
			attached = slices.DeleteFunc(attached, func(id int64) bool { return id == address.ID })
		}
	}
	for _, uid := range uids {
		marks.uid = uid
		found, err := of.cloud.FloatingIPsWith(marks.selector())
		if err != nil {
			return all, err
		}
		take(found...)
	}
	adopted, err := of.adoptedFloatingIPs(request, marks)
	if err != nil {
		return all, err
	}
	take(adopted...)
	for _, id := range slices.Clone(attached) {
		address, err := of.cloud.FloatingIP(id)
		if err != nil {
			return all, err
		}
		if address != nil {
			take(address)
		}
	}
	return all, nil
}

// Returns the Floating IP that machine-controller-manager made for the Machine, if the cluster adopts.
func (of machines) adoptedFloatingIPs(request driver.Request, marks marks) ([]*hcloud.FloatingIP, error) {
	pool, _ := class.FloatingPool(request.Class)
	if pool == "" || marks.adopted == "" {
		return nil, nil
	}
	named, err := of.cloud.FloatingIPsNamed(floatingName(pool, request.Machine.Name))
	return slices.DeleteFunc(named, func(address *hcloud.FloatingIP) bool { return !marks.adoptsFloatingIP(address) }), err
}

func floatingName(pool, machine string) string { return pool + "-" + machine + "-ipv4" }

func (of marks) adoptsFloatingIP(address *hcloud.FloatingIP) bool {
	_, isMarked := address.Labels[clusterLabel]
	return of.adopted != "" && !isMarked && address.Labels[mcmClusterLabel] == of.adopted && address.Labels[mcmPoolLabel] != "" &&
		strings.HasSuffix(address.Name, "-"+of.name+"-ipv4")
}

// The outcome of all orders of a deletion.
type orders struct {
	refused  error
	isLocked bool
}

func (of *orders) note(err error) {
	var said *driver.Error
	switch {
	case err == nil:
	case errors.As(err, &said) && (api.HasCode(err, hcloud.ErrorCodeLocked) || api.HasCode(err, hcloud.ErrorCodeConflict)):
		of.isLocked = true
	case of.refused == nil:
		of.refused = err
	}
}

func (of *orders) outcome(request driver.Request) (driver.Deletion, error) {
	if of.refused != nil {
		return nil, of.refused
	}
	if of.isLocked {
		return driver.Progress{
			ResumeToken: request.Machine.LastKnownState,
			AskAgain:    lockRetry,
			Message:     "Hetzner works on the server or its Floating IP; it is deleted afterwards",
		}, nil
	}
	return driver.Deleted{}, nil
}
