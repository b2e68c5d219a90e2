package machines

import (
	"strings"

	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
)

// Metadata of servers and volumes. Nova takes no slash in a key.
const (
	clusterMark = class.MarkPrefix + "cluster"
	uidMark     = class.MarkPrefix + "machine-uid"
)

// owner is whose a server is.
type owner uint8

const (
	// own: it belongs to this Machine.
	own owner = iota
	// neighbours: it belongs to another Machine of this cluster.
	neighbours
	// otherClusters: it has another cluster's mark.
	otherClusters
	// unproven: it has no mark, and may be this Machine's from the time of another program.
	unproven
	// strangers: nothing connects it with this Machine.
	strangers
)

// marks are those of one Machine.
type marks struct {
	cluster, uid, name string
	// adopted are the operator's keys; nil if the cluster adopts nothing.
	adopted *class.TagKeys
	// ofClass are the class's keys. They prove nothing: anyone who can write classes chooses them.
	ofClass class.TagKeys
}

// metadata returns the class's tags with the marks.
func (of marks) metadata(tags map[string]string) map[string]string {
	all := make(map[string]string, len(tags)+2)
	for key, value := range tags {
		all[key] = value
	}
	all[clusterMark], all[uidMark] = of.cluster, of.uid
	return all
}

// adopts is true if the server has no mark, but the keys by which this cluster adopts.
func (of marks) adopts(server cloud.Server) bool {
	return isUnmarked(server.Metadata) && of.adopted != nil && of.adopted.AreOn(server.Metadata)
}

func isUnmarked(metadata map[string]string) bool {
	_, hasCluster := metadata[clusterMark]
	_, hasUID := metadata[uidMark]
	return !hasCluster && !hasUID
}

// byName returns whose a server with the Machine's name is.
func (of marks) byName(server cloud.Server) owner {
	cluster, isMarked := server.Metadata[clusterMark]
	hasUID := server.Metadata[uidMark] == of.uid
	switch {
	case isMarked && cluster == of.cluster && hasUID:
		return own
	case isMarked && cluster == of.cluster:
		return neighbours
	case hasUID:
		return otherClusters
	// Nova may compare names without regard to case.
	case server.Name != of.name:
		return strangers
	case of.adopts(server):
		return own
	case isUnmarked(server.Metadata) && of.ofClass.AreOn(server.Metadata):
		return unproven
	}
	return strangers
}

// byID returns whose the server is to which the Machine's provider id leads. The id proves nothing, since others write
// it as well. In this cluster the name is enough: a Machine that was restored from a backup has another uid.
func (of marks) byID(server cloud.Server) owner {
	cluster, isMarked := server.Metadata[clusterMark]
	isNamed := server.Name == of.name
	switch {
	case isMarked && cluster != of.cluster:
		return otherClusters
	case isMarked && (server.Metadata[uidMark] == of.uid || isNamed):
		return own
	case isMarked:
		return neighbours
	case isNamed && of.adopts(server):
		return own
	}
	return unproven
}

// describedPort is the description of a port of this Machine: ports have no metadata, and a create takes no tags
// everywhere.
func (of marks) describedPort() string {
	return "machinist.dev cluster=" + of.cluster + " machine-uid=" + of.uid
}

// ownsPort is true if a port with the Machine's name was created for it. Ports of machine-controller-manager have the
// keys of tags alone.
func (of marks) ownsPort(port cloud.Port) bool {
	if port.Description == of.describedPort() {
		return true
	}
	if of.adopted == nil || port.Name != of.name || strings.HasPrefix(port.Description, "machinist.dev ") {
		return false
	}
	tags := map[string]string{}
	for _, tag := range port.Tags {
		tags[tag] = ""
	}
	return of.adopted.AreOn(tags)
}

// ownsVolume is true if a volume with the Machine's name was created for it.
func (of marks) ownsVolume(volume cloud.Volume) bool {
	if isUnmarked(volume.Metadata) {
		return of.adopted != nil && volume.Name == of.name && of.adopted.AreOn(volume.Metadata)
	}
	return volume.Metadata[clusterMark] == of.cluster && volume.Metadata[uidMark] == of.uid
}
