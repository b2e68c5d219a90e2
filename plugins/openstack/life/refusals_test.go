package life

import (
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Each row is a class that the real services refuse: the code, whether it is terminal, and a part of the advice.
func TestEachRefusalOfTheServicesHasItsCodeAndAdvice(t *testing.T) {
	cloud := cloudOf(t)
	nowhere := "00000000-0000-4000-8000-000000000000"
	rows := []struct {
		name     string
		changes  map[string]any
		code     driver.Code
		terminal bool
		advice   string
	}{
		{"unknown flavor", map[string]any{"flavorName": "m9.none"}, driver.ResourceExhausted, false, "flavorName"},
		{"unknown zone", map[string]any{"availabilityZone": "nowhere-9z"}, driver.InvalidArgument, true, "availabilityZone"},
		{"unknown key pair", map[string]any{"keyName": "nobody"}, driver.InvalidArgument, true, "keyName"},
		{"unknown image", map[string]any{"imageID": nowhere}, driver.InvalidArgument, true, "imageID"},
		{"unknown image name", map[string]any{"imageID": nil, "imageName": "windows-3.11"}, driver.InvalidArgument, false, "imageName"},
		{"unknown network", map[string]any{"networkID": nowhere}, driver.InvalidArgument, true, "networkID"},
		{"unknown network name", map[string]any{"networkID": nil, "networks": []map[string]any{{"name": "none"}}},
			driver.InvalidArgument, false, "networks"},
		{"unknown subnet", map[string]any{"subnetIDs": []string{nowhere}}, driver.InvalidArgument, false, "SubnetNotFound"},
		{"unknown security group", map[string]any{"securityGroups": []string{"nobody"}}, driver.InvalidArgument, true, "securityGroups"},
		{"unknown security group of a port", map[string]any{"subnetIDs": []string{cloud.Facts.NodeSubnet},
			"securityGroups": []string{"nobody"}}, driver.InvalidArgument, false, "securityGroups"},
		{"unknown server group", map[string]any{"serverGroupID": nowhere}, driver.InvalidArgument, true, "serverGroupID"},
		{"unknown volume type", map[string]any{"rootDiskSize": 2, "rootDiskType": "none"}, driver.InvalidArgument, false, "none"},
		{"full subnet, port", map[string]any{"networkID": cloud.Facts.Full, "subnetIDs": []string{cloud.Facts.FullSubnet}},
			driver.ResourceExhausted, false, "extend the subnet"},
		{"full subnet, server", map[string]any{"networkID": cloud.Facts.Full}, driver.ResourceExhausted, false, "extend the subnet"},
		{"no valid host", map[string]any{"flavorName": "m1.huge"}, driver.ResourceExhausted, false, "another availabilityZone"},
		{"no valid host, with port and volume", map[string]any{"flavorName": "m1.huge", "subnetIDs": []string{cloud.Facts.NodeSubnet},
			"rootDiskSize": 2, "rootDiskType": "fast"}, driver.ResourceExhausted, false, "another availabilityZone"},
		{"policy", map[string]any{"availabilityZone": "nova:compute-1"}, driver.PermissionDenied, false, "role"},
		{"unknown region", map[string]any{"region": "Atlantis"}, driver.InvalidArgument, false, "RegionOne, RegionTwo"},
		{"region out of service", map[string]any{"region": "RegionTwo"}, driver.Unavailable, false, "this region is down"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			of := machine(t, cloud.spec(row.changes))
			_, err := of.create()
			said := asError(t, err)
			if said.Code != row.code || said.Terminal != row.terminal || said.MayHaveHappened || !strings.Contains(said.Message, row.advice) {
				t.Fatalf("%s terminal %v may have happened %v: %s", said.Code, said.Terminal, said.MayHaveHappened, said.Message)
			}
			of.mustShowNothing(t, said)
			servers, _, volumes := of.left()
			if len(servers) > 0 || len(volumes) > 0 {
				t.Fatalf("%d servers and %d volumes are left", len(servers), len(volumes))
			}
			if row.name != "region out of service" && row.name != "unknown region" {
				must(t, of.delete())
				of.mustLeaveNothing()
			}
		})
	}
}

// mustShowNothing: neither message nor log has user data or a value of the Secret.
func (of *subject) mustShowNothing(t *testing.T, said *driver.Error) {
	t.Helper()
	texts := []string{said.Message, said.LastKnownState}
	for _, line := range of.host.Lines {
		texts = append(texts, line.Message)
		for _, value := range line.Fields {
			texts = append(texts, value)
		}
	}
	for _, text := range texts {
		for _, hidden := range []string{"boot-payload", of.cloud.Facts.Password, "I2Nsb3VkLWNvbmZpZ"} {
			if strings.Contains(text, hidden) {
				t.Fatalf("%q shows %q", text, hidden)
			}
		}
	}
}

func TestAFullQuotaIsNoMatterOfPolicy(t *testing.T) {
	cloud := cloudOf(t)
	quota := func(count int) {
		cloud.admin().call(t, "PUT", "nova", "/v2.1/os-quota-sets/"+cloud.Facts.Project,
			map[string]any{"quota_set": map[string]any{"instances": count, "force": true}})
	}
	quota(0)
	defer quota(-1)
	of := machine(t, cloud.spec(nil))
	_, err := of.create()
	said := asError(t, err)
	if said.Code != driver.ResourceExhausted || said.Terminal || said.MayHaveHappened || !strings.Contains(said.Message, "quota") {
		t.Fatalf("%+v", said)
	}
}

func TestLoginsThatFailSayWhatToCorrect(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(nil))
	of.host.Secrets["password"] = "another-password"
	_, err := of.create()
	said := asError(t, err)
	if said.Code != driver.Unauthenticated || !said.Terminal || said.MayHaveHappened || !strings.Contains(said.Message, "Secret") {
		t.Fatalf("%+v", said)
	}
	of.host.Secrets = cloud.Secret
}

func TestATokenThatIsRevokedIsFetchedOnceMore(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(nil))
	of.made()
	of.token = "gAAAAABrevoked"
	_, err := of.calls.GetStatus(of.request)
	must(t, err)
}

func TestUserDataThatNovaWouldRepeatIsRefusedBefore(t *testing.T) {
	cloud := cloudOf(t)
	of := machine(t, cloud.spec(nil))
	of.host.UserData = strings.Repeat("boot-payload ", 4000)
	before := len(of.requests)
	_, err := of.create()
	said := asError(t, err)
	if said.Code != driver.InvalidArgument || !strings.Contains(said.Message, "user data") {
		t.Fatalf("%+v", said)
	}
	for _, request := range of.requests[before:] {
		if strings.HasPrefix(request, "POST") {
			t.Fatal(request)
		}
	}
}
