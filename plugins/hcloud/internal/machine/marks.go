package machine

import (
	"fmt"
	"maps"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/api"
	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

const (
	// The marks of this driver: the host's cluster, and the Machine.
	clusterLabel = "machinist.dev/cluster"
	uidLabel     = "machinist.dev/machine-uid"
	// The labels of machine-controller-manager. The class's author chooses them, so they prove nothing alone.
	mcmClusterLabel = "mcm.gardener.cloud/cluster"
	mcmRoleLabel    = "mcm.gardener.cloud/role"
	mcmPoolLabel    = "networking.hcloud.mcm.gardener.cloud/floating-pool"
	regionLabel     = "topology.kubernetes.io/region"
	zoneLabel       = "topology.kubernetes.io/zone"

	role = "node"
)

// The owner of a server that the Machine's id or name leads to.
type owner uint8

const (
	// The server belongs to the Machine.
	own owner = iota
	// It belongs to another Machine of this cluster.
	neighbour
	// It carries the mark of another cluster.
	otherCluster
	// It carries no mark that counts.
	nobody
)

// The marks of one Machine's server.
type marks struct {
	cluster, uid, name string
	// The value of the label that means this cluster.
	label string
	// The label of machine-controller-manager's servers that this cluster adopts; empty for none.
	adopted string
}

func (of machines) marksOf(request driver.Request) marks {
	return marks{of.cluster, request.Machine.UID, request.Machine.Name, of.label, of.adopted}
}

// Returns the owner of a server. An id and a name prove nothing alone, since anyone who can write Machines writes them.
// In this cluster the name is enough, since a Machine that was restored from a backup has another uid.
func (of marks) ownerOf(server *hcloud.Server) owner {
	cluster, isMarked := server.Labels[clusterLabel]
	switch {
	case isMarked && cluster != of.label:
		return otherCluster
	case isMarked && (server.Labels[uidLabel] == of.uid || server.Name == of.name):
		return own
	case isMarked:
		return neighbour
	case of.adopts(server.Labels) && server.Name == of.name:
		return own
	}
	return nobody
}

// Reports whether labels are those of machine-controller-manager in this cluster, and of no program after it.
func (of marks) adopts(labels map[string]string) bool {
	_, hasUID := labels[uidLabel]
	return of.adopted != "" && !hasUID && labels[mcmClusterLabel] == of.adopted && labels[mcmRoleLabel] == role
}

// Reports whether the Machine's uid is on it, with this cluster's mark.
func (of marks) areOn(labels map[string]string) bool {
	return labels[clusterLabel] == of.label && labels[uidLabel] == of.uid
}

// Reports whether an adopted server lacks the marks.
func lacksMarks(server *hcloud.Server) bool {
	return server.Labels[clusterLabel] == "" || server.Labels[uidLabel] == ""
}

// Returns these labels with the marks.
func (of marks) with(labels map[string]string) map[string]string {
	all := maps.Clone(labels)
	if all == nil {
		all = map[string]string{}
	}
	all[clusterLabel], all[uidLabel] = of.label, of.uid
	return all
}

// Returns the labels of a new server, in the request that creates it. Those of machine-controller-manager are among
// them, so that it finds the servers if an operator returns to it.
func (of marks) ofServer(spec class.Spec, zone string) map[string]string {
	all := of.with(spec.Labels)
	all[mcmClusterLabel], all[mcmRoleLabel] = spec.Cluster, role
	all[regionLabel], all[zoneLabel] = class.Location(zone), zone
	return all
}

func (of marks) ofFloatingIP(spec class.Spec) map[string]string {
	all := of.with(spec.Labels)
	all[mcmClusterLabel], all[mcmPoolLabel] = spec.Cluster, spec.FloatingPool
	return all
}

// Returns the selector of the Machine's servers and Floating IPs.
func (of marks) selector() string {
	return clusterLabel + "==" + of.label + "," + uidLabel + "==" + of.uid
}

// An empty mark would mean every cluster, and a uid that is no value of a label could be neither set nor looked for.
func (of marks) check() error {
	if of.cluster == "" {
		return driver.Failed(driver.FailedPrecondition, "the cluster has no mark: start the host with a --cluster-id")
	}
	if !class.IsLabelValue(of.uid) || of.uid == "" {
		return driver.Invalid(fmt.Sprintf("the Machine's uid %q is no value of a label of Hetzner", driver.Quoted(of.uid)))
	}
	return nil
}

// Refuses a server of another cluster: both "there is none" and "it is removed" would be wrong. The host waits, and
// shows what to do.
func ofAnotherCluster(server *hcloud.Server) error {
	cluster := driver.Quoted(server.Labels[clusterLabel])
	return driver.Failed(driver.FailedPrecondition, fmt.Sprintf(
		"the server %d carries the mark of cluster %s, left alone: start the host with --cluster-id=%s", server.ID, cluster, cluster))
}

// Refuses a server without marks: it may be the Machine's from before another program was replaced, or anybody's.
func (of marks) ofNobody(server *hcloud.Server) error {
	return driver.Failed(driver.FailedPrecondition, fmt.Sprintf("the server %d carries no mark that makes it this Machine's, left "+
		"alone: if it is and another program made it, adopt the cluster's servers by the plugin's settings.json: %s, with the value of "+
		"their label %s; else correct the Machine", server.ID, api.AdoptAdvice(of.cluster), mcmClusterLabel))
}
