package class

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// problems collects everything that is wrong in a class, in the order in which it is found.
type problems []string

func (all *problems) add(path, format string, arguments ...any) {
	*all = append(*all, path+": "+fmt.Sprintf(format, arguments...))
}

// object reads the fields of a JSON object as strictly as Kubernetes does: names match in their exact case, and a field
// that is unknown or there twice is a problem. Package json accepts all three.
type object struct {
	path   string
	fields map[string]json.RawMessage
	all    *problems
}

// newObject parses an object. One that is absent or of another kind has no fields.
func newObject(path string, source json.RawMessage, all *problems) object {
	of := object{path: path, fields: map[string]json.RawMessage{}, all: all}
	if isAbsent(source) {
		return of
	}
	decoder := json.NewDecoder(bytes.NewReader(source))
	start, err := decoder.Token()
	if err != nil || start != json.Delim('{') {
		all.add(path, "must be an object")
		return of
	}
	for decoder.More() {
		name, err := decoder.Token()
		key, isText := name.(string)
		var value json.RawMessage
		if err != nil || !isText || decoder.Decode(&value) != nil {
			all.add(path, "is not JSON")
			return of
		}
		if _, isThere := of.fields[key]; isThere {
			all.add(of.at(driver.Quoted(key)), "is there twice")
		}
		of.fields[key] = value
	}
	return of
}

// isAbsent is true for null, too.
func isAbsent(source json.RawMessage) bool { return len(source) == 0 || string(source) == "null" }

func (of object) at(name string) string { return of.path + "." + name }

// take removes a field and returns it.
func (of object) take(name string) json.RawMessage {
	value := of.fields[name]
	delete(of.fields, name)
	if isAbsent(value) {
		return nil
	}
	return value
}

// end reports the fields that nothing has taken.
func (of object) end() {
	names := make([]string, 0, len(of.fields))
	for name := range of.fields {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		of.all.add(of.at(driver.Quoted(name)), "is unknown: correct its name (case matters), or remove it")
	}
}

// decode reads a field into a value of Go; the kind is for the message. False if it is absent or of another kind.
func decode[T any](of object, name, kind string, into *T) bool {
	value := of.take(name)
	if value == nil {
		return false
	}
	if json.Unmarshal(value, into) != nil {
		of.all.add(of.at(name), "must be %s", kind)
		return false
	}
	return true
}

func (of object) text(name string) string {
	var text string
	decode(of, name, "a text", &text)
	return text
}

func (of object) texts(name string) []string {
	var texts []string
	decode(of, name, "a list of texts", &texts)
	return texts
}

// number reads an integer of at least zero.
func (of object) number(name string) int {
	var number json.Number
	value := of.fields[name]
	if len(value) > 0 && value[0] == '"' || !decode(of, name, "a number", &number) {
		if len(value) > 0 && value[0] == '"' {
			of.take(name)
			of.all.add(of.at(name), "must be a number")
		}
		return 0
	}
	size, err := number.Int64()
	if err != nil || size < 0 || size > 1<<31-1 {
		of.all.add(of.at(name), "must be a whole number of at least 0, got %s", driver.Quoted(number.String()))
		return 0
	}
	return int(size)
}

// merged returns all texts once, in order, without blank ones.
func merged(lists ...[]string) []string {
	seen := map[string]bool{}
	var all []string
	for _, list := range lists {
		for _, text := range list {
			if text = strings.TrimSpace(text); text != "" && !seen[text] {
				seen[text] = true
				all = append(all, text)
			}
		}
	}
	sort.Strings(all)
	return all
}
