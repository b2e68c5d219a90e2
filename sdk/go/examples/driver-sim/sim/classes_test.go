package sim

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

func TestAClassIsReadLeniently(test *testing.T) {
	fixture := newFixture(test)
	lenient := object{
		"tags": object{"team": "a"}, "initialize": true, "volumes": []object{{"sizeGib": 20, "name": nil, "keep": true}},
		"region": nil, "colour": "blue",
	}
	read, warnings, err := readSpec(request(1, lenient).Class)
	fixture.ok(err)
	expected := spec{[]string{"sim-1a"}, "sim.small", "linux-1", map[string]string{"team": "a"}, []volumeSpec{{20, ""}}, true, false}
	fixture.check(reflect.DeepEqual(read, expected), read)
	fixture.check(reflect.DeepEqual(warnings, []string{
		"providerSpec.colour is not a field and is ignored",
		"providerSpec.region is not a field and is ignored",
		"providerSpec.volumes[0].keep is not a field and is ignored",
	}), warnings)
	asked, err := fixture.driver.ValidateClass(request(1, lenient).Class)
	fixture.ok(err)
	fixture.check(reflect.DeepEqual(asked, warnings), asked)
	fixture.created(request(1, lenient))
	fixture.check(fixture.cloud.live()[0].tags()["team"] == "a")
}

func TestAFaultNamesItsFieldBeforeAnythingIsAsked(test *testing.T) {
	fixture := newFixture(test)
	many := object{}
	for number := range 48 {
		many[fmt.Sprint(number)] = ""
	}
	volumes := func(list ...any) object { return object{"volumes": list} }
	table := []struct {
		changes object
		message string
	}{
		{object{"zone": ""}, `zone must be a text that is not empty, got ""`},
		{object{"zone": nil}, `zone is required`},
		{object{"type": 7}, `type must be a text that is not empty, got 7`},
		{object{"image": nil}, `image is required`},
		{object{"initialize": "yes"}, `initialize must be true or false, got "yes"`},
		{object{"initialize": 1}, `initialize must be true or false, got 1`},
		{object{"interruptible": 1}, `interruptible must be true or false, got 1`},
		{object{"tags": []any{}}, `tags must be an object of texts, got []`},
		{object{"tags": object{"a": 1}}, `tags["a"] must be a text of at most 256 bytes, got 1`},
		{object{"tags": object{"a:b": ""}}, `tags["a:b"] must have a key of 1 to 128 bytes without a colon`},
		{object{"tags": object{"cluster": "mine"}}, `tags["cluster"] is set by the driver: use another key`},
		{object{"tags": many}, `tags has 48 entries: at most 47 fit`},
		{object{"volumes": object{}}, `volumes must be a list, got {}`},
		{volumes(1), `volumes[0] must be an object, got 1`},
		{volumes(object{}), `volumes[0].sizeGib is required`},
		{volumes(object{"sizeGib": true}), `volumes[0].sizeGib must be a whole number from 1 on, got true`},
		{volumes(object{"sizeGib": 1}, object{"sizeGib": 1.5}), `volumes[1].sizeGib must be a whole number from 1 on, got 1.5`},
		{volumes(object{"sizeGib": 1, "name": 2}), `volumes[0].name must be a text that is not empty, got 2`},
	}
	for _, row := range table {
		asked := request(1, row.changes)
		for _, err := range []error{second(fixture.driver.ValidateClass(asked.Class)), second(fixture.driver.Create(asked))} {
			said := fixture.fails(driver.InvalidArgument, err)
			fixture.check(said.Message == "providerSpec."+row.message && said.Terminal, said.Message)
		}
	}
	fixture.check(len(fixture.requests()) == 0)
}

func TestNullIsAsGoodAsNothing(test *testing.T) {
	read, warnings, err := readSpec(request(1, object{"tags": nil, "volumes": nil, "initialize": nil}).Class)
	if err != nil || len(warnings)+len(read.tags)+len(read.volumes) != 0 || read.initialize {
		test.Fatal(read, warnings, err)
	}
}

func TestAClassWithoutAZoneTakesTheAlternatives(test *testing.T) {
	read, _, err := readSpec(request(1, object{"zone": nil}, "sim-1b", "sim-1c", "sim-1b").Class)
	if err != nil || !reflect.DeepEqual(read.zones, []string{"sim-1b", "sim-1c"}) {
		test.Fatal(read, err)
	}
}

func TestTextThatIsNotJSONSaysWhere(test *testing.T) {
	class := drivertest.Class("sim", "{\n  nonsense")
	_, _, err := readSpec(class)
	if err == nil || err.Error() != "providerSpec is not JSON (line 2, column 3)" || asksForInitialize(class) {
		test.Fatal(err)
	}
}

func TestTheSchemaKnowsTheFieldsThatAreRead(test *testing.T) {
	var known struct {
		Properties map[string]struct {
			Items struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(schema), &known); err != nil {
		test.Fatal(err)
	}
	volume := object{}
	for name := range known.Properties["volumes"].Items.Properties {
		volume[name] = nil
	}
	volume["sizeGib"] = 1
	everything := object{}
	for name := range known.Properties {
		everything[name] = nil
	}
	everything = specWith(everything)
	everything["zone"], everything["type"], everything["image"] = "sim-1a", "sim.small", "linux-1"
	everything["volumes"] = []object{volume}
	_, warnings, err := readSpec(drivertest.Class("sim", everything))
	if err != nil || len(warnings) != 0 || len(known.Properties) != 7 {
		test.Fatal(warnings, err)
	}
}

func TestTheDriverSaysWhoItIs(test *testing.T) {
	fixture := newFixture(test)
	about := fixture.driver.Describe()
	fixture.check(about.Name == "sim" && reflect.DeepEqual(about.Providers, []string{"sim"}), about)
	fixture.check(reflect.DeepEqual(about.Hosts, []string{"cloud.test"}), about.Hosts)
	offers := about.Offers
	fixture.check(offers.Status && offers.Initialize && offers.Listing && offers.VolumeIDs && offers.Reboot, offers)
	fixture.host.Settings = ""
	fixture.check(len(fixture.driver.Describe().Hosts) == 0)
}

func TestVolumesOfOtherKindsHaveNoIDHere(test *testing.T) {
	fixture := newFixture(test)
	specs := []string{
		`{"csi": {"driver": "sim.csi.machinist.dev", "volumeHandle": "vol-1"}, "capacity": {}}`,
		`{"csi": {"driver": "other", "volumeHandle": "vol-1"}}`,
		`{"csi": {"driver": "sim.csi.machinist.dev"}}`,
		`{"csi": 7}`, `{"hostPath": {"path": "/"}}`, `[]`,
	}
	ids, err := fixture.driver.GetVolumeIDs(specs)
	fixture.ok(err)
	fixture.check(reflect.DeepEqual(ids, []string{"vol-1", "", "", "", "", ""}), ids)
	said := fixture.fails(driver.InvalidArgument, second(fixture.driver.GetVolumeIDs([]string{specs[0], "{"})))
	fixture.check(strings.Contains(said.Message, "volume spec 1"), said)
}
