package sdk_test

import (
	"os"
	"strings"
	"testing"
)

// The code in the README compiles and is tested.
func TestTheReadmeShowsTheExample(test *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		test.Fatal(err)
	}
	for _, name := range []string{"main.go", "my/driver.go", "my/driver_test.go"} {
		source, err := os.ReadFile("examples/my-driver/" + name)
		if err != nil {
			test.Fatal(err)
		}
		if !strings.Contains(string(readme), "```go\n"+string(source)+"```") {
			test.Errorf("README.md does not show examples/my-driver/%s as it is", name)
		}
	}
}
