package class

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

type object = map[string]any

func spec(changes object) object {
	spec := object{
		"cluster": "c", "zone": "hel1-dc2", "serverType": "cx23", "imageName": "ubuntu-24.04",
		"sshFingerprint": "b0:62:0f:6f:0c:ab:79:0f:b7:5b:00:c0:ad:d6:4c:3d",
	}
	maps.Copy(spec, changes)
	return spec
}

func read(spec any, zones ...string) (Spec, []string, error) {
	return Read(drivertest.Class("hcloud", spec, zones...))
}

func TestClassesOfMachineControllerManagerAreAccepted(test *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 5 {
		test.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			test.Fatal(err)
		}
		var class struct{ ProviderSpec json.RawMessage }
		if err := json.Unmarshal(text, &class); err != nil {
			test.Fatal(file, err)
		}
		read, _, err := read(string(class.ProviderSpec))
		if err != nil || read.Cluster == "" || read.Zones[0] == "" || read.ServerType == "" || !read.IPv4 || !read.IPv6 {
			test.Error(file, read, err)
		}
	}
}

func TestTheFieldsOfAClassAreRead(test *testing.T) {
	read, warnings, err := read(spec(object{
		"placementGroupID": "897", "floatingPoolName": "public", "networkName": "nodes", "firewalls": []string{"a", "b"},
		"enableIPv6": false, "labels": object{"team.example.com/name": "blue"}, "alternativeZones": []string{"fsn1"},
	}))
	if err != nil || len(warnings) != 0 {
		test.Fatal(warnings, err)
	}
	if read.PlacementGroup != 897 || read.FloatingPool != "public" || read.Network != "nodes" || !read.IPv4 || read.IPv6 {
		test.Error(read)
	}
	if !slices.Equal(read.Firewalls, []string{"a", "b"}) || read.Labels["team.example.com/name"] != "blue" {
		test.Error(read)
	}
	if !slices.Equal(read.Zones, []string{"hel1-dc2", "fsn1"}) || Location(read.Zones[0]) != "hel1" {
		test.Error(read.Zones)
	}
}

func TestAllProblemsOfAClassAreReportedAtOnce(test *testing.T) {
	_, _, err := read(object{"zone": 7, "serverType": "", "imageName": nil, "cluster": "a b", "firewalls": "x", "enableIPv4": "yes",
		"labels": object{"machinist.dev/cluster": "x", "a b": "c", "d": 7}})
	var said *driver.Error
	if !errors.As(err, &said) || said.Code != driver.InvalidArgument || !said.Terminal {
		test.Fatal(err)
	}
	for _, part := range []string{
		`providerSpec.zone must be a text, got 7`, `providerSpec.serverType is required`, `providerSpec.imageName is required`,
		`providerSpec.cluster must be at most 63`, `providerSpec.sshFingerprint is required`, `providerSpec.firewalls must be a list`,
		`providerSpec.enableIPv4 must be true or false`, `labels["machinist.dev/cluster"] is set by the driver`,
		`labels["a b"] is no key`, `labels["d"] must be a text`,
	} {
		if !strings.Contains(said.Message, part) {
			test.Errorf("%s is missing in %s", part, said.Message)
		}
	}
	for _, text := range []string{"", "{", "7", "[]", strings.Repeat("[", 100_000), `"x"`} {
		if _, _, err := read(text); !errors.As(err, &said) || said.Code != driver.InvalidArgument {
			test.Errorf("%.20s: %v", text, err)
		}
	}
}

func TestAnUnknownFieldIsAWarning(test *testing.T) {
	_, warnings, err := read(spec(object{"zzz": 1, "size": nil}))
	if err != nil || len(warnings) != 2 || !strings.Contains(warnings[0], "providerSpec.size") {
		test.Error(warnings, err)
	}
}

func TestAPlacementGroupIsAnIDAndOnlyAPoolMakesAnotherTextAnError(test *testing.T) {
	for _, row := range []struct {
		group, pool any
		id          int64
		isWarned    bool
		isInvalid   bool
	}{
		{nil, nil, 0, false, false},
		{"", "public", 0, false, false},
		{"897", nil, 897, false, false},
		{897, "public", 897, false, false},
		{"mine", nil, 0, true, false},
		{"mine", "public", 0, false, true},
		{"-1", "public", 0, false, true},
		{true, nil, 0, false, true},
	} {
		read, warnings, err := read(spec(object{"placementGroupID": row.group, "floatingPoolName": row.pool}))
		if read.PlacementGroup != row.id || (err != nil) != row.isInvalid || (len(warnings) > 0) != row.isWarned {
			test.Error(row, read, warnings, err)
		}
	}
}

func TestZonesOfOneLocationAreOneAndThoseOfTheHostComeLast(test *testing.T) {
	alternatives := object{"alternativeZones": []string{"hel1", "fsn1-dc14", "fsn1", "nbg1"}}
	if read, _, _ := read(spec(alternatives)); !slices.Equal(read.Zones, []string{"hel1-dc2", "fsn1-dc14", "nbg1"}) {
		test.Error(read.Zones)
	}
	if read, _, _ := read(spec(nil), "nbg1", "hel1", "fsn1"); !slices.Equal(read.Zones, []string{"hel1-dc2", "nbg1", "fsn1"}) {
		test.Error(read.Zones)
	}
	all := []string{"hel1-dc2", "fsn1-dc14", "nbg1", "ash"}
	if read, _, _ := read(spec(alternatives), "nbg1", "ash"); !slices.Equal(read.Zones, all) {
		test.Error(read.Zones)
	}
	if read, warnings, err := read(spec(nil), "a,b", "nbg1", "-x"); err != nil || len(read.Zones) != 2 || len(warnings) != 2 ||
		!strings.Contains(warnings[0], "a,b") {
		test.Error(read.Zones, warnings, err)
	}
	if _, _, err := read(spec(object{"zone": "-x"})); err == nil {
		test.Error("a zone without a location")
	}
}

func TestAServerWithoutPublicAddressesNeedsANetwork(test *testing.T) {
	private := object{"enableIPv4": false, "enableIPv6": false}
	if _, _, err := read(spec(private)); err == nil || !strings.Contains(err.Error(), "networkName") {
		test.Error(err)
	}
	private["networkName"] = "nodes"
	if _, _, err := read(spec(private)); err != nil {
		test.Error(err)
	}
}

func TestAClassIsPlacedInOneZoneAndNoOther(test *testing.T) {
	class := drivertest.Class("hcloud", spec(object{"ZONE": "hel1", "alternativeZones": []string{"nbg1"}, "networkName": "nodes"}), "nbg1")
	placed, err := Place(class, "fsn1")
	if err != nil {
		test.Fatal(err)
	}
	read, _, err := read(placed)
	if err != nil || !slices.Equal(read.Zones, []string{"fsn1"}) || read.Network != "nodes" {
		test.Error(placed, err)
	}
	class.Spec, class.Zones = placed, nil
	if again, err := Place(class, "fsn1"); err != nil || again != placed {
		test.Error(again, err)
	}
	for _, nowhere := range []string{"", "a b", "-", "x,!y"} {
		if _, err := Place(class, nowhere); err == nil {
			test.Error(nowhere)
		}
	}
}

func TestABrokenClassStillShowsWhatADeletionNeeds(test *testing.T) {
	if pool, isReadable := FloatingPool(drivertest.Class("hcloud", object{"floatingPoolName": "public"})); pool != "public" || !isReadable {
		test.Error(pool, isReadable)
	}
	for _, broken := range []any{"{", object{"floatingPoolName": 7}, object{"floatingPoolName": "a,b"}} {
		if _, isReadable := FloatingPool(drivertest.Class("hcloud", broken)); isReadable {
			test.Error(broken)
		}
	}
}

func TestAttackALabelCannotChangeASelector(test *testing.T) {
	for _, text := range []string{"a,b", "a==b", "!a", "a b", "a/b", "ä", ".a", "a-", strings.Repeat("a", 64), "a\n"} {
		if IsLabelValue(text) {
			test.Errorf("%q", text)
		}
	}
	for _, text := range []string{"", "a", "A-b_c.9", strings.Repeat("a", 63)} {
		if !IsLabelValue(text) {
			test.Errorf("%q", text)
		}
	}
}

// The schema names every field of the package, and no other.
func TestTheSchemaHasTheFieldsThatTheDriverReads(test *testing.T) {
	var schema struct {
		Properties           map[string]any
		Required             []string
		AdditionalProperties *bool
	}
	if err := json.Unmarshal([]byte(Schema), &schema); err != nil {
		test.Fatal(err)
	}
	if fields := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(fields, slices.Sorted(slices.Values(names))) {
		test.Error(fields)
	}
	// A key in another case is none for a schema, and the driver takes it.
	if len(schema.Required) > 0 || schema.AdditionalProperties != nil {
		test.Error("the schema refuses classes that the driver takes:", schema.Required)
	}
	for field := range spec(nil) {
		without := spec(nil)
		delete(without, field)
		if _, _, err := read(without); err == nil || !strings.Contains(err.Error(), field) {
			test.Error(field, err)
		}
	}
}

func TestATextThatIsNoLabelGetsOneOfItsOwn(t *testing.T) {
	for text, start := range map[string]string{"c1": "c1", "team/shop": "team-shop.", "/": "", strings.Repeat("x", 64): "xxxxxxxx"} {
		label := Label(text)
		if !IsLabelValue(label) || !strings.HasPrefix(label, start) {
			t.Errorf("%q: %q", text, label)
		}
	}
	if Label("team/shop") == Label("team-shop") || Label("team/shop") == Label("team.shop/") {
		t.Error("two clusters have one label")
	}
}
