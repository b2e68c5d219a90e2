package class

import (
	"encoding/json"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Place returns the providerSpec of a class in this zone and in no other.
func Place(class driver.Class, failureDomain string) (string, error) {
	if isNoZone(failureDomain) {
		return "", driver.Invalid("the failure domain " + driver.Quoted(failureDomain) + " is no location of Hetzner, such as hel1")
	}
	class.Zones = nil
	if _, _, err := Read(class); err != nil {
		return "", err
	}
	var values map[string]any
	if err := driver.ReadJSON([]byte(class.Spec), &values); err != nil {
		return "", driver.Invalid("providerSpec is not JSON")
	}
	for key := range values {
		if name, _ := known(key); name == zone || name == alternativeZones {
			delete(values, key)
		}
	}
	values[zone] = failureDomain
	text, err := json.Marshal(values)
	return string(text), err
}
