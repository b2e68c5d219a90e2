package machines

import (
	"math/rand"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/plugins/openstack/class"
	"github.com/machinist-dev/machinist/plugins/openstack/cloud"
)

func server(id, status string, age int) cloud.Server {
	return cloud.Server{ID: id, Name: "worker-1", Status: status, Created: time.UnixMilli(1e12).Add(-time.Duration(age) * time.Second)}
}

func TestAllCallersChooseTheSameServer(t *testing.T) {
	servers := []cloud.Server{server("d", "ACTIVE", 1), server("c", "BUILD", 5), server("b", "ACTIVE", 5), server("a", "ERROR", 9)}
	for range 100 {
		rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		chosen, losers := choose(servers, "")
		if chosen.ID != "b" || len(losers) != 3 {
			t.Fatal(chosen.ID, losers)
		}
		if chosen, _ := choose(servers, "d"); chosen.ID != "d" {
			t.Fatal("the server that the Machine has stored is not kept")
		}
	}
}

// A server that becomes ACTIVE while another one is built must not change the choice.
func TestTheChoiceDoesNotChangeWhileServersAreBuilt(t *testing.T) {
	for _, statuses := range [][2]string{{"BUILD", "BUILD"}, {"BUILD", "ACTIVE"}, {"ACTIVE", "BUILD"}, {"ACTIVE", "ACTIVE"}} {
		if chosen, _ := choose([]cloud.Server{server("x", statuses[0], 1), server("y", statuses[1], 2)}, ""); chosen.ID != "y" {
			t.Fatal(statuses, chosen.ID)
		}
	}
}

func TestAServerThatIsLeavingIsNoLoser(t *testing.T) {
	leaving := server("x", "ACTIVE", 9)
	leaving.TaskState = "deleting"
	if chosen, losers := choose([]cloud.Server{leaving, server("y", "BUILD", 1)}, ""); chosen.ID != "y" || len(losers) > 0 {
		t.Fatal(chosen.ID, losers)
	}
}

func TestWhoseAServerIs(t *testing.T) {
	keys := class.TagKeys{Cluster: "kubernetes.io-cluster-a", Role: "kubernetes.io-role-node"}
	of := marks{cluster: "c1", uid: "u1", name: "worker-1", ofClass: keys}
	adopting := of
	adopting.adopted = &keys
	tags := map[string]string{keys.Cluster: "1", keys.Role: "1"}
	rows := []struct {
		metadata     map[string]string
		byName, byID owner
		adopted      owner
	}{
		{map[string]string{clusterMark: "c1", uidMark: "u1"}, own, own, own},
		{map[string]string{clusterMark: "c1", uidMark: "u2"}, neighbours, own, neighbours},
		{map[string]string{clusterMark: "c2", uidMark: "u1"}, otherClusters, otherClusters, otherClusters},
		{map[string]string{clusterMark: "c2", uidMark: "u2"}, strangers, otherClusters, strangers},
		{tags, unproven, unproven, own},
		{map[string]string{keys.Cluster: "1"}, strangers, unproven, strangers},
		{nil, strangers, unproven, strangers},
	}
	for _, row := range rows {
		one := server("x", "ACTIVE", 1)
		one.Metadata = row.metadata
		if of.byName(one) != row.byName || of.byID(one) != row.byID || adopting.byName(one) != row.adopted {
			t.Errorf("%v: %d %d %d", row.metadata, of.byName(one), of.byID(one), adopting.byName(one))
		}
		one.Name = "worker-2"
		if len(row.metadata) == 2 && row.metadata[uidMark] == "u2" && row.metadata[clusterMark] == "c1" && of.byID(one) != neighbours {
			t.Error("a server of another name and uid is the Machine's")
		}
	}
}

func TestAPortOrVolumeOfAnotherMachineIsNotOwned(t *testing.T) {
	of := marks{cluster: "c1", uid: "u1", name: "worker-1"}
	other := marks{cluster: "c1", uid: "u2", name: "worker-1"}
	if port := (cloud.Port{Name: "worker-1", Description: other.describedPort()}); of.ownsPort(port) || !other.ownsPort(port) {
		t.Error("the port's owner is wrong")
	}
	if of.ownsPort(cloud.Port{Name: "worker-1"}) {
		t.Error("a name alone owns a port")
	}
	if volume := (cloud.Volume{Name: "worker-1", Metadata: other.metadata(nil)}); of.ownsVolume(volume) || !other.ownsVolume(volume) {
		t.Error("the volume's owner is wrong")
	}
	if of.ownsVolume(cloud.Volume{Name: "worker-1"}) {
		t.Error("a name alone owns a volume")
	}
}
