package machine

import (
	"net/url"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The labels of machine-controller-manager's servers.
func mcmLabels() map[string]any {
	return map[string]any{
		mcmClusterLabel: "shoot--a--b", mcmRoleLabel: "node", regionLabel: "hel1", zoneLabel: "hel1-dc2",
	}
}

const adopting = `{"adopt": {"c1": "shoot--a--b"}}`

func TestAServerOfAnotherClusterIsLeftAlone(test *testing.T) {
	fixture := newFixture(test)
	theirs := request(1, nil)
	theirs.Cluster = "c2"
	vm := fixture.created(theirs)
	// The id leads to it: the control plane was moved.
	known := request(2, nil)
	known.Machine.ProviderID = vm.ProviderID
	for _, err := range []error{
		second(fixture.driver.GetStatus(known)), second(fixture.driver.Delete(known)), fixture.driver.Reboot(known),
		second(fixture.driver.Initialize(known)),
	} {
		said := fixture.fails(driver.FailedPrecondition, err)
		fixture.check(strings.Contains(said.Message, "--cluster-id=c2"), said)
	}
	// The name and the uid lead to it.
	fixture.fails(driver.FailedPrecondition, second(fixture.driver.GetStatus(request(1, nil))))
	fixture.fails(driver.FailedPrecondition, second(fixture.driver.Create(request(1, nil))))
	// The name alone does not: clusters that share names have projects of their own.
	other := request(1, nil)
	other.Machine.UID = "uid-of-another"
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(other)))
	fixture.ok(second(fixture.driver.Delete(other)))
	said := fixture.fails(driver.AlreadyExists, second(fixture.driver.Create(other)))
	fixture.check(!said.MayHaveHappened && strings.Contains(said.Message, "unique in a project"), said)
	page, err := fixture.driver.List(theirs.Class, "c1", "")
	fixture.check(err == nil && len(page.Machines) == 0 && len(fixture.live()) == 1, page, err)
}

func TestAServerOfAnotherMachineOfTheClusterIsLeftAlone(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	asked := request(2, nil)
	asked.Machine.ProviderID = vm.ProviderID
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(asked)))
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.live()) == 1 && strings.Contains(strings.Join(fixture.host.Messages(), "\n"), "left alone"))
}

func TestAnEarlierMachineOfTheNameKeepsItsServerUntilItIsGone(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	reborn := request(1, nil)
	reborn.Machine.UID = "uid-of-later"
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(reborn)))
	fixture.fails(driver.AlreadyExists, second(fixture.driver.Create(reborn)))
	fixture.ok(second(fixture.driver.Delete(reborn)))
	fixture.check(len(fixture.live()) == 1)
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
	fixture.check(!fixture.fails(driver.Aborted, second(fixture.driver.Create(reborn))).MayHaveHappened)
	fixture.cloud.complete()
	fixture.created(reborn)
}

func TestAMachineRestoredUnderAnotherUIDKeepsItsServerAndItsFloatingIP(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, object{"floatingPoolName": "public"})
	asked = stored(asked, fixture.created(asked))
	fixture.ok(second(fixture.driver.Initialize(asked)))
	asked.Machine.UID, asked.Machine.LastKnownState = "uid-of-later", ""
	fixture.ok(second(fixture.driver.GetStatus(asked)))
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.live()) == 0 && len(fixture.cloud.addresses) == 0, fixture.cloud.addresses)
}

func TestTwoServersOfOneMachineAreSeenAndDeleted(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	fixture.cloud.plant("renamed", map[string]any{clusterLabel: "c1", uidLabel: "uid-1"})
	said := fixture.fails(driver.OutOfRange, second(fixture.driver.GetStatus(request(1, nil))))
	fixture.check(strings.Contains(said.Message, "2 servers"), said)
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
	fixture.check(len(fixture.live()) == 0)
}

func TestAServerWithoutMarksIsNobodysUnlessTheSettingsAdoptIt(test *testing.T) {
	for _, settings := range []string{"", `{"adopt": {"c2": "shoot--a--b"}}`, `{"adopt": {"c1": "shoot--x--y"}}`} {
		fixture := newFixture(test)
		fixture.host.Settings = settings
		fixture.cloud.plant("machine-1", mcmLabels())
		byID := request(1, nil)
		byID.Machine.ProviderID = "hcloud:///hel1-dc2/42"
		for _, asked := range []driver.Request{byID, request(1, nil)} {
			for _, err := range []error{
				second(fixture.driver.GetStatus(asked)), second(fixture.driver.Delete(asked)), fixture.driver.Reboot(asked),
				second(fixture.driver.Create(asked)),
			} {
				said := fixture.fails(driver.FailedPrecondition, err)
				fixture.check(strings.Contains(said.Message, `{"adopt":{"c1":"LABEL"}}`), said)
			}
		}
		page, err := fixture.driver.List(byID.Class, "c1", "")
		fixture.check(err == nil && len(page.Machines) == 0 && len(fixture.live()) == 1, page, err)
	}
}

func TestAnAdoptedServerGetsMarksAndIsDeletedWithItsFloatingIP(test *testing.T) {
	for _, isMarkedFirst := range []bool{false, true} {
		fixture := newFixture(test)
		fixture.host.Settings = adopting
		server := fixture.cloud.plant("machine-1", mcmLabels())
		server["public_net"].(object)["floating_ips"] = []int{99}
		fixture.cloud.addresses = []object{
			{"id": 99, "name": "public-machine-1-ipv4", "ip": "131.232.99.1", "server": 42,
				"labels": map[string]any{mcmClusterLabel: "shoot--a--b", mcmPoolLabel: "public"}},
			{"id": 98, "name": "public-machine-2-ipv4", "ip": "131.232.99.2",
				"labels": map[string]any{mcmClusterLabel: "shoot--a--b", mcmPoolLabel: "public"}},
		}
		fixture.cloud.plant("machine-2", mcmLabels())
		asked := request(1, object{"floatingPoolName": "public"})
		said := fixture.fails(driver.Uninitialized, second(fixture.driver.GetStatus(asked)))
		fixture.check(said.ProviderID == "hcloud:///hel1-dc2/42", said)
		if isMarkedFirst {
			fixture.ok(second(fixture.driver.Initialize(asked)))
			labels := server["labels"].(map[string]any)
			fixture.check(labels[clusterLabel] == "c1" && labels[uidLabel] == "uid-1" && labels[mcmRoleLabel] == "node", labels)
			fixture.ok(second(fixture.driver.GetStatus(asked)))
			fixture.host.Settings = ""
		}
		fixture.ok(second(fixture.driver.Delete(asked)))
		fixture.check(len(fixture.live()) == 1 && len(fixture.cloud.addresses) == 1, isMarkedFirst, fixture.cloud.addresses)
		fixture.check(fixture.cloud.addresses[0]["id"] == 98)
	}
}

func TestAdoptedServersAreListedAfterThoseWithMarks(test *testing.T) {
	fixture := newFixture(test)
	fixture.host.Settings = adopting
	fixture.created(request(1, nil))
	fixture.cloud.plant("machine-2", mcmLabels())
	first, err := fixture.driver.List(request(1, nil).Class, "c1", "")
	fixture.ok(err)
	fixture.check(len(first.Machines) == 1 && first.Next == "a:1", first)
	last, err := fixture.driver.List(request(1, nil).Class, "c1", first.Next)
	fixture.ok(err)
	fixture.check(len(last.Machines) == 1 && last.Machines[0].MachineName == "machine-2" && last.Machines[0].MachineUID == "", last)
	fixture.check(last.Next == "", last)
}

func TestAClusterWithoutAMarkIsRefusedBeforeAnyRequest(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	asked.Cluster = ""
	for _, err := range []error{
		second(fixture.driver.Create(asked)), second(fixture.driver.GetStatus(asked)), second(fixture.driver.Delete(asked)),
		second(fixture.driver.List(asked.Class, "", "")), fixture.driver.Reboot(asked),
	} {
		fixture.check(strings.Contains(fixture.fails(driver.FailedPrecondition, err).Message, "--cluster-id"))
	}
	fixture.check(len(fixture.requests()) == 0)
}

func TestAttackAMarkThatIsNoLabelChangesNoSelector(test *testing.T) {
	for _, cluster := range []string{"team/shop", "a,b", "c1,!machinist.dev/machine-uid", "a b", strings.Repeat("a", 64)} {
		fixture := newFixture(test)
		of := func(cluster string) driver.Request {
			asked := request(1, nil)
			asked.Cluster = cluster
			return asked
		}
		_, err := fixture.driver.Create(of(cluster))
		fixture.ok(err)
		for _, request := range fixture.host.Sent {
			parsed, err := url.Parse(request.URL)
			fixture.ok(err)
			selector := parsed.Query().Get("label_selector")
			fixture.check(selector == "" || strings.HasPrefix(selector, clusterLabel+"=="+class.Label(cluster)+","), selector)
		}
		ours, err := fixture.driver.List(request(1, nil).Class, cluster, "")
		fixture.ok(err)
		theirs, err := fixture.driver.List(request(1, nil).Class, "c1", "")
		fixture.ok(err)
		fixture.check(len(ours.Machines) == 1 && len(theirs.Machines) == 0, cluster)
	}
}

func TestSettingsThatCannotBeReadStopEveryCall(test *testing.T) {
	for _, settings := range []string{
		"x", `{"endpoint": 7}`, `{"endpoint": "ftp://x"}`, `{"endpoint": "https://a@b/"}`, `{"adopt": []}`, `{"adopt": {"c1": 7}}`,
		`{"adopt": {"c1": ""}}`, `{"adopt": {"c1": "a,b"}}`, `{"adopt": {"c1": null}}`,
		`{"adopt": {"c1": "shoot--a--b", "c2": "shoot--a--b"}}`,
	} {
		fixture := newFixture(test)
		fixture.host.Settings = settings
		said := fixture.fails(driver.FailedPrecondition, second(fixture.driver.GetStatus(request(1, nil))))
		fixture.check(strings.Contains(said.Message, "settings") && !said.Terminal, settings, said)
	}
}

func TestOfTwoServersTheOneThatIsNamedIsRemovedAndNoOther(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil)
	asked = stored(asked, fixture.created(asked))
	fixture.cloud.plant("machine-1-again", map[string]any{clusterLabel: "c1", uidLabel: "uid-1"})
	fixture.cloud.plant("theirs", map[string]any{clusterLabel: "c2", uidLabel: "uid-1"})
	fixture.cloud.plant("nobodys", map[string]any{})
	second := fixture.live()[1]["id"].(int)
	of := func(id int) string { return nodeID(int64(id)) }

	fixture.fails(driver.FailedPrecondition, fixture.driver.DeleteByID(asked, asked.Machine.ProviderID))
	fixture.fails(driver.FailedPrecondition, fixture.driver.DeleteByID(asked, of(second+1)))
	fixture.fails(driver.FailedPrecondition, fixture.driver.DeleteByID(asked, of(second+2)))
	fixture.fails(driver.InvalidArgument, fixture.driver.DeleteByID(asked, "aws:///eu-west-1/i-1"))
	fixture.check(len(fixture.live()) == 4)

	for range 2 {
		fixture.requests()
		fixture.ok(fixture.driver.DeleteByID(asked, "hcloud:///hel1/"+of(second)[len(nodeIDPrefix):]))
		fixture.check(len(fixture.live()) == 3, fixture.live())
	}
	fixture.cloud.complete()
	fixture.ok(fixture.driver.DeleteByID(asked, of(second)))
	seen, err := fixture.driver.GetStatus(asked)
	fixture.check(err == nil && seen.ProviderID == asked.Machine.ProviderID, seen, err)
}
