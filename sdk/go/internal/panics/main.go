// A driver that ends in every unusual way, for the tests of the sandbox: the class chooses the way.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/component"
)

type panics struct{}

func init() { component.Serve(panics{}) }

func main() {}

func (panics) Describe(*driver.Host) driver.About {
	return driver.About{Name: "panics", Version: "0.1.0", Providers: []string{"panics"}}
}

func (panics) ValidateClass(*driver.Host, driver.Class) ([]string, error) { return nil, nil }

func (panics) Delete(*driver.Host, driver.Request) (driver.Deletion, error) {
	return driver.Deleted{}, nil
}

// The value of a panic that panics when it is printed.
type worse struct{}

func (worse) Error() string { panic("and again") }

func (panics) Create(_ *driver.Host, request driver.Request) (driver.Creation, error) {
	var table map[string]int
	var nothing *panics
	switch request.Class.Spec {
	case "text":
		panic("out of cheese\n\x1b[31m")
	case "error":
		panic(errors.New("an error"))
	case "nil":
		panic(nil)
	case "worse":
		panic(worse{})
	case "map":
		table["a"] = 1
	case "index":
		return driver.VM{ProviderID: []string{}[len(request.Machine.UID)]}, nil
	case "pointer":
		return driver.VM{ProviderID: fmt.Sprint(*nothing)}, nil
	case "exit":
		os.Exit(3)
	case "goexit":
		runtime.Goexit()
	case "deadlock":
		select {}
	case "recursion":
		return driver.VM{ProviderID: fmt.Sprint(deeper(1))}, nil
	case "hoard":
		for hoard := [][]byte{}; ; {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	}
	return driver.VM{ProviderID: "panics:///1", NodeName: request.Machine.Name, State: driver.VMRunning}, nil
}

func deeper(depth int) int { return deeper(depth+1) + depth }
