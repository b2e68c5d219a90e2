package sim

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// JSON Schema of providerSpec, for Describe.
//
//go:embed class-schema.json
var schema string

const (
	// The cloud allows 50 tags; the driver needs some of them.
	mostTags      = 50 - 3
	tagKeyBytes   = 128
	tagValueBytes = 256
)

var ownTags = []string{clusterTag, uidTag, nameTag}

// The properties of a VM.
type spec struct {
	// At least one, best first.
	zones       []string
	kind, image string
	tags        map[string]string
	volumes     []volumeSpec
	// True if Initialize completes the VM.
	initialize bool
	// True if the VM may be taken away at any time. The driver only reports it.
	interruptible bool
}

// A volume that is created with the VM and deleted with it.
type volumeSpec struct {
	SizeGiB uint64 `json:"sizeGib"`
	Name    string `json:"name,omitempty"`
}

// Returns the body of a create. The same class, machine and user data always give the same body.
func (of spec) body(request driver.Request, zone, userData string) map[string]any {
	all := map[string]string{clusterTag: request.Cluster, uidTag: request.Machine.UID, nameTag: request.Machine.Name}
	for key, value := range of.tags {
		all[key] = value
	}
	body := map[string]any{"name": request.Machine.Name, "zone": zone, "type": of.kind, "image": of.image, "tags": all}
	if userData != "" {
		body["userData"] = userData
	}
	if len(of.volumes) > 0 {
		body["volumes"] = of.volumes
	}
	if of.initialize {
		body["needsInitialize"] = true
	}
	return body
}

// Reads a class. Unknown fields cause a warning, and null counts as absent.
func readSpec(class driver.Class) (read spec, warnings []string, err error) {
	root, err := rootOf(class)
	if err != nil {
		return spec{}, nil, err
	}
	warnings = root.unknown("zone", "type", "image", "tags", "volumes", "initialize", "interruptible")
	var ofVolumes []string
	steps := []func() error{
		func() (err error) { read.zones, err = zonesOf(root, class.Zones); return err },
		func() (err error) { read.volumes, ofVolumes, err = volumesOf(root); return err },
		func() (err error) { read.kind, err = root.neededText("type"); return err },
		func() (err error) { read.image, err = root.neededText("image"); return err },
		func() (err error) { read.tags, err = tagsOf(root); return err },
		func() (err error) { read.initialize, err = flagOf(root, "initialize"); return err },
		func() (err error) { read.interruptible, err = flagOf(root, "interruptible"); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return spec{}, nil, err
		}
	}
	return read, append(warnings, ofVolumes...), nil
}

// Returns the providerSpec of a class in this zone and no other.
func placed(class driver.Class, zone string) (string, error) {
	class.Zones = []string{zone}
	if _, _, err := readSpec(class); err != nil {
		return "", err
	}
	root, err := rootOf(class)
	if err != nil {
		return "", err
	}
	root.values["zone"] = zone
	text, err := json.Marshal(root.values)
	return string(text), err
}

// Reads the only field that matters once the VM exists. An unreadable class asks for nothing.
func asksForInitialize(class driver.Class) bool {
	root, err := rootOf(class)
	if err != nil {
		return false
	}
	asks, err := flagOf(root, "initialize")
	return asks && err == nil
}

func rootOf(class driver.Class) (fields, error) {
	root := fields{at: "providerSpec"}
	var value any
	if err := driver.ReadJSON([]byte(class.Spec), &value); err != nil {
		var where *driver.NotJSON
		if errors.As(err, &where) {
			return root, driver.Invalid(fmt.Sprintf("providerSpec is not JSON (line %d, column %d)", where.Line, where.Column))
		}
		return root, driver.Invalid("providerSpec is not JSON")
	}
	object, isObject := value.(map[string]any)
	if value != nil && !isObject {
		return root, driver.Invalid("providerSpec must be an object")
	}
	root.values = object
	return root, nil
}

func zonesOf(root fields, alternatives []string) ([]string, error) {
	first, err := root.text("zone")
	if err != nil {
		return nil, err
	}
	var zones []string
	for _, zone := range append([]string{first}, alternatives...) {
		if zone != "" && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	if len(zones) == 0 {
		return nil, root.invalid("zone", "is required")
	}
	return zones, nil
}

func flagOf(root fields, name string) (bool, error) {
	value := root.get(name)
	isSet, is := value.(bool)
	if value != nil && !is {
		return false, root.unfit(name, "true or false", value)
	}
	return isSet, nil
}

func tagsOf(root fields) (map[string]string, error) {
	value := root.get("tags")
	if value == nil {
		return nil, nil
	}
	object, is := value.(map[string]any)
	if !is {
		return nil, root.unfit("tags", "an object of texts", value)
	}
	if len(object) > mostTags {
		return nil, root.invalid("tags", fmt.Sprintf("has %d entries: at most %d fit", len(object), mostTags))
	}
	tags := make(map[string]string, len(object))
	for _, key := range sorted(object) {
		at := fmt.Sprintf(`tags["%s"]`, driver.Quoted(key))
		if slices.Contains(ownTags, key) {
			return nil, root.invalid(at, "is set by the driver: use another key")
		}
		if key == "" || len(key) > tagKeyBytes || strings.Contains(key, ":") {
			return nil, root.invalid(at, fmt.Sprintf("must have a key of 1 to %d bytes without a colon", tagKeyBytes))
		}
		text, is := object[key].(string)
		if !is || len(text) > tagValueBytes {
			return nil, root.unfit(at, fmt.Sprintf("a text of at most %d bytes", tagValueBytes), object[key])
		}
		tags[key] = text
	}
	return tags, nil
}

func sorted(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func volumesOf(root fields) (volumes []volumeSpec, warnings []string, err error) {
	value := root.get("volumes")
	list, is := value.([]any)
	if value != nil && !is {
		return nil, nil, root.unfit("volumes", "a list", value)
	}
	for index, entry := range list {
		of, err := root.inside(fmt.Sprintf("volumes[%d]", index), entry)
		if err != nil {
			return nil, nil, err
		}
		size, err := sizeOf(of)
		if err != nil {
			return nil, nil, err
		}
		name, err := of.text("name")
		if err != nil {
			return nil, nil, err
		}
		volumes = append(volumes, volumeSpec{size, name})
		warnings = append(warnings, of.unknown("sizeGib", "name")...)
	}
	return volumes, warnings, nil
}

func sizeOf(of fields) (uint64, error) {
	value := of.get("sizeGib")
	if value == nil {
		return 0, of.invalid("sizeGib", "is required")
	}
	if number, is := value.(json.Number); is {
		if size, err := strconv.ParseUint(number.String(), 10, 64); err == nil && size > 0 {
			return size, nil
		}
	}
	return 0, of.unfit("sizeGib", "a whole number from 1 on", value)
}
