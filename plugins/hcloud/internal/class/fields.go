package class

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The fields of a providerSpec, and all problems found in them: a user corrects them at once, not one by one.
type fields struct {
	values   map[string]any
	problems []string
}

// Reads a providerSpec. Keys match in any case, as in machine-controller-manager; the exact spelling comes first.
func fieldsOf(spec string) (*fields, []string, error) {
	var value any
	if err := driver.ReadJSON([]byte(spec), &value); err != nil {
		return nil, nil, driver.Invalid("providerSpec is not JSON")
	}
	object, isObject := value.(map[string]any)
	if value != nil && !isObject {
		return nil, nil, driver.Invalid("providerSpec must be an object")
	}
	read := &fields{values: map[string]any{}}
	var unknown []string
	for key, value := range object {
		name, isExact := known(key)
		_, isTaken := object[name]
		switch {
		case name == "":
			unknown = append(unknown, fmt.Sprintf("providerSpec.%s is not a field and is ignored", driver.Quoted(key)))
		case isExact || !isTaken:
			read.values[name] = value
		}
	}
	slices.Sort(unknown)
	return read, unknown, nil
}

// Returns the field that a key means; empty if there is none.
func known(key string) (name string, isExact bool) {
	for _, name := range names {
		if strings.EqualFold(name, key) {
			return name, name == key
		}
	}
	return "", false
}

// Returns a text; empty if it is absent or null.
func (of *fields) text(name string) string {
	value := of.values[name]
	text, isText := value.(string)
	if value != nil && !isText {
		of.unfit(name, "a text", value)
	}
	return text
}

func (of *fields) required(name, example string) string {
	text := of.text(name)
	if _, isText := of.values[name].(string); text == "" && (isText || of.values[name] == nil) {
		of.problem(name, "is required, such as "+strconv.Quote(example))
	}
	return text
}

// Returns a text that Hetzner accepts as the value of a label.
func (of *fields) label(name, text string) string {
	if !IsLabelValue(text) {
		of.problem(name, "must be at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit")
	}
	return text
}

func (of *fields) flag(name string, otherwise bool) bool {
	value := of.values[name]
	isSet, isFlag := value.(bool)
	switch {
	case value == nil:
		return otherwise
	case !isFlag:
		of.unfit(name, "true or false", value)
	}
	return isSet
}

// Returns a list of texts that are not empty.
func (of *fields) texts(name string) []string {
	value := of.values[name]
	list, isList := value.([]any)
	if value != nil && !isList {
		of.unfit(name, "a list of texts", value)
	}
	var texts []string
	for index, entry := range list {
		text, isText := entry.(string)
		if !isText || text == "" {
			of.unfit(fmt.Sprintf("%s[%d]", name, index), "a text that is not empty", entry)
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

func (of *fields) unfit(name, wanted string, got any) {
	of.problem(name, fmt.Sprintf("must be %s, got %s", wanted, driver.Quoted(written(got))))
}

func (of *fields) problem(name, problem string) {
	of.problems = append(of.problems, "providerSpec."+name+" "+problem)
}

// Returns all problems as one error; nil if there are none.
func (of *fields) err() error {
	if len(of.problems) == 0 {
		return nil
	}
	return driver.Invalid(strings.Join(of.problems, "; "))
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
