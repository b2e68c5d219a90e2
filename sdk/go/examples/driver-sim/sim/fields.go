package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The fields of a JSON object, with its path. Null counts as absent.
type fields struct {
	at     string
	values map[string]any
}

// Returns the value of a field; nil if it is absent.
func (of fields) get(name string) any { return of.values[name] }

// Returns a text that is not empty; empty if it is absent.
func (of fields) text(name string) (string, error) {
	value := of.get(name)
	if value == nil {
		return "", nil
	}
	if text, is := value.(string); is && text != "" {
		return text, nil
	}
	return "", of.unfit(name, "a text that is not empty", value)
}

func (of fields) neededText(name string) (string, error) {
	text, err := of.text(name)
	if err == nil && text == "" {
		err = of.invalid(name, "is required")
	}
	return text, err
}

// Returns a warning for each field that `known` does not name, sorted.
func (of fields) unknown(known ...string) []string {
	var warnings []string
	for name := range of.values {
		if !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("%s.%s is not a field and is ignored", of.at, driver.Quoted(name)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// Returns the fields of the object at `name`.
func (of fields) inside(name string, value any) (fields, error) {
	if object, is := value.(map[string]any); is {
		return fields{of.at + "." + name, object}, nil
	}
	return fields{}, of.unfit(name, "an object", value)
}

func (of fields) unfit(name, wanted string, got any) error {
	return of.invalid(name, fmt.Sprintf("must be %s, got %s", wanted, driver.Quoted(written(got))))
}

func (of fields) invalid(name, problem string) error {
	return driver.Invalid(fmt.Sprintf("%s.%s %s", of.at, name, problem))
}

// Returns the value as JSON, without the escapes for HTML.
func written(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return "something else"
	}
	return string(bytes.TrimSpace(text.Bytes()))
}
