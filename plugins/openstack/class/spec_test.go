package class

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func of(spec string) driver.Class { return driver.Class{Provider: "OpenStack", Spec: spec} }

func TestClassesOfOthersAreAccepted(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(Schema), &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gardener-worker.json", "dual-stack.json", "mcm-sample.json", "image-volume.json"} {
		if _, warnings, err := Read(of(file(t, name))); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", name, err, warnings)
		}
		var value any
		if err := json.Unmarshal([]byte(file(t, name)), &value); err != nil || !fits(schema, value) {
			t.Errorf("%s does not fit the schema: %v", name, err)
		}
	}
	spec, _, _ := Read(of(file(t, "gardener-worker.json")))
	if !spec.OwnsPort() || !spec.OwnsVolume() || !reflect.DeepEqual(spec.PodCIDRs, []string{"100.96.0.0/11"}) || spec.ServerGroupID != "" {
		t.Fatalf("%+v", spec)
	}
	spec, _, _ = Read(of(file(t, "dual-stack.json")))
	if spec.OwnsPort() || spec.OwnsVolume() || len(spec.Networks) != 2 || !spec.Networks[0].IsPodNetwork {
		t.Fatalf("%+v", spec)
	}
}

// fits checks a value as far as the class-schema goes: the keywords that it has, and no others.
func fits(schema map[string]any, value any) bool {
	fields, isObject := value.(map[string]any)
	entries, isList := value.([]any)
	text, isText := value.(string)
	number, isNumber := value.(float64)
	_, isFlag := value.(bool)
	is := map[string]bool{"object": isObject, "array": isList, "string": isText, "boolean": isFlag, "null": value == nil,
		"integer": isNumber && number == float64(int64(number))}
	for keyword, wanted := range schema {
		isFitting := true
		switch keyword {
		case "type":
			kinds, isMany := wanted.([]any)
			if !isMany {
				kinds = []any{wanted}
			}
			isFitting = slices.ContainsFunc(kinds, func(kind any) bool { return is[kind.(string)] })
		case "const":
			isFitting = value == wanted
		case "minLength":
			isFitting = !isText || len(text) >= int(wanted.(float64))
		case "minimum":
			isFitting = !isNumber || number >= wanted.(float64)
		case "required":
			for _, name := range wanted.([]any) {
				_, isThere := fields[name.(string)]
				isFitting = isFitting && (isThere || !isObject)
			}
		case "allOf":
			isFitting = !slices.ContainsFunc(wanted.([]any), func(one any) bool { return !fits(one.(map[string]any), value) })
		case "anyOf":
			isFitting = slices.ContainsFunc(wanted.([]any), func(one any) bool { return fits(one.(map[string]any), value) })
		case "items":
			isFitting = !slices.ContainsFunc(entries, func(one any) bool { return !fits(wanted.(map[string]any), one) })
		case "properties", "additionalProperties":
			isFitting = fieldsFit(schema, fields)
		case "$schema", "description", "deprecated":
		default:
			panic("the test does not know " + keyword)
		}
		if !isFitting {
			return false
		}
	}
	return true
}

func fieldsFit(schema, fields map[string]any) bool {
	known, _ := schema["properties"].(map[string]any)
	others, isOpen := schema["additionalProperties"].(map[string]any)
	for name, value := range fields {
		of, isKnown := known[name].(map[string]any)
		if !isKnown && (!isOpen || !fits(others, value)) || isKnown && !fits(of, value) {
			return false
		}
	}
	return true
}

// The driver creates servers in the zone of the class alone, and does not keep silent about others.
func TestZonesOfTheAnnotationAreAWarning(t *testing.T) {
	zoned := of(file(t, "gardener-worker.json"))
	zoned.Zones = []string{"eu-de-1b"}
	_, warnings, err := Read(zoned)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "machinist.dev/zones are not tried") {
		t.Fatalf("%v %v", warnings, err)
	}
}

// Each change of a good class, and the field that the message names.
func TestEachMistakeNamesItsField(t *testing.T) {
	good := file(t, "gardener-worker.json")
	rows := []struct{ from, to, field string }{
		{`"flavorName": "g_c4_m16"`, `"flavorName": ""`, "flavorName: is required"},
		{`"flavorName": "g_c4_m16"`, `"flavorname": "g_c4_m16"`, "flavorname: is unknown"},
		{`"flavorName": "g_c4_m16"`, `"flavorName": "a", "flavorName": "b"`, "flavorName: is there twice"},
		{`"flavorName": "g_c4_m16"`, `"flavorName": ["a"]`, "flavorName: must be a text"},
		{`"keyName": "shoot--project--name-ssh-publickey",`, ``, "keyName: is required"},
		{`"region": "eu-de-1"`, `"region": null`, "region: is required"},
		{`"imageID": "9f3b2c2a-6d7e-4f4b-8d6f-2f0f6a0c1d11",`, ``, "imageID: is required"},
		{`"networkID": "5f6a7e2c-0f1d-4c33-b8a5-0a9d1b6c7e21",`, ``, "networkID: is required"},
		{`"subnetID"`, `"networks": [{"id": "a"}], "subnetID"`, "networkID: is required, or networks, and not both"},
		{`"subnetID"`, `"networks": [{}], "subnetID"`, "networks[0]: needs either id or name"},
		{`"podNetworkCidr": "100.96.0.0/11",`, ``, "podNetworkCIDRs: needs at least one"},
		{`"100.96.0.0/11"`, `"100.96.0.0/99"`, "podNetworkCIDRs: has"},
		{`"rootDiskSize": 50`, `"rootDiskSize": -1`, "rootDiskSize: must be a whole number"},
		{`"rootDiskSize": 50`, `"rootDiskSize": "50"`, "rootDiskSize: must be a number"},
		{`"rootDiskSize": 50`, `"rootDiskSize": ` + strings.Repeat("9", 4000), "rootDiskSize: must be a whole number"},
		{`"useConfigDrive": true`, `"useConfigDrive": "yes"`, "useConfigDrive: must be true or false"},
		{`"kubernetes.io-role-node": "1",`, ``, "tags: needs one key"},
		{`"kubernetes.io-role-node": "1"`, `"kubernetes.io-role-node": 1`, "tags: must be an object with texts"},
		{`"kubernetes.io-role-node": "1"`, `"kubernetes.io-role-node": "1", "machinist.dev-cluster": "x"`, "tags: must not have keys"},
		{`MachineProviderConfig`, `Machine`, "providerSpec.kind: must be"},
		{`v1alpha1`, `v1`, "providerSpec.apiVersion: must be"},
		{`"spec": {`, `"status": {}, "spec": {`, "providerSpec.status: is unknown"},
	}
	for _, row := range rows {
		changed := strings.Replace(good, row.from, row.to, 1)
		if changed == good {
			t.Fatalf("%s changes nothing", row.from)
		}
		_, _, err := Read(of(changed))
		var said *driver.Error
		if !errors.As(err, &said) || said.Code != driver.InvalidArgument || !strings.Contains(said.Message, row.field) {
			t.Errorf("%s: %v", row.to[:min(len(row.to), 40)], err)
		}
	}
}

// The other provider reads no range that no port gets.
func TestARangeWithoutEffectIsAWarning(t *testing.T) {
	unused := strings.Replace(file(t, "dual-stack.json"), `"podNetwork": true`, `"podNetwork": false`, 1)
	unused = strings.Replace(unused, "100.96.0.0/11", "none", 1)
	if _, warnings, err := Read(of(unused)); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "podNetworkCIDRs") {
		t.Fatal(warnings, err)
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	_, _, err := Read(of(`{"apiVersion": "openstack.machine.gardener.cloud/v1alpha1", "kind": "MachineProviderConfig", "spec": {"x": 1}}`))
	for _, field := range []string{"region", "availabilityZone", "flavorName", "keyName", "imageID", "networkID", "podNetworkCIDRs", "tags", "x"} {
		if err == nil || !strings.Contains(err.Error(), "spec."+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestAnythingElseIsNoClass(t *testing.T) {
	for _, text := range []string{"", "7", "[]", "null", "{", `{"spec": []}`, strings.Repeat("[", 100_000)} {
		if _, _, err := Read(of(text)); err == nil {
			t.Errorf("%.20q is a class", text)
		}
		ReadInPart(of(text))
	}
	if _, _, err := Read(driver.Class{Provider: "AWS", Spec: file(t, "dual-stack.json")}); err == nil {
		t.Error("a class of another provider is accepted")
	}
}

func TestAPlacedClassDiffersInItsZoneAlone(t *testing.T) {
	first, err := Place(of(file(t, "gardener-worker.json")), "eu-de-1b")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Place(of(first), "eu-de-1b")
	if first != again {
		t.Fatalf("%s\n%s", first, again)
	}
	var before, after map[string]any
	_ = json.Unmarshal([]byte(file(t, "gardener-worker.json")), &before)
	_ = json.Unmarshal([]byte(first), &after)
	before["spec"].(map[string]any)["availabilityZone"] = "eu-de-1b"
	if !reflect.DeepEqual(before, after) {
		t.Fatal(first)
	}
}

func TestTheSchemaKnowsEachField(t *testing.T) {
	var schema struct {
		Properties struct {
			Spec struct {
				Properties map[string]any `json:"properties"`
			} `json:"spec"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(Schema), &schema); err != nil {
		t.Fatal(err)
	}
	for field := range schema.Properties.Spec.Properties {
		_, _, err := Read(of(`{"spec": {"` + field + `": true}}`))
		if err == nil || strings.Contains(err.Error(), field+": is unknown") {
			t.Errorf("the schema has %s, and the driver does not", field)
		}
	}
	if len(schema.Properties.Spec.Properties) != 18 {
		t.Error(len(schema.Properties.Spec.Properties))
	}
}

func TestHalfAClassIsEnoughForADeletion(t *testing.T) {
	part := ReadInPart(of(`{"spec": {"region": "RegionOne", "tags": {"kubernetes.io-cluster-a": "1", "kubernetes.io-role-node": "1"}, "flavorName": 7}}`))
	if part.Region != "RegionOne" || part.Keys != (TagKeys{"kubernetes.io-cluster-a", "kubernetes.io-role-node"}) || part.IsWhole {
		t.Fatalf("%+v", part)
	}
}
