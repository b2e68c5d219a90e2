//go:build !wasip1

package look

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/internal/blame"
)

// Described runs code that may panic, and reports the problem.
func Described(report *Report, describe func()) {
	defer func() {
		if recovered := recover(); recovered != nil {
			report.Problem = "Describe must not fail: " + blame.Panic(recovered)
		}
	}()
	describe()
}

// CheckAbout returns the problem for which the host would reject the answer.
func CheckAbout(name, version, schema string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "Describe answers no Name"
	case !isSemantic(version):
		return fmt.Sprintf("Describe answers the Version %q: it must be a semantic version such as 0.1.0", version)
	case schema != "" && !json.Valid([]byte(schema)):
		return "Describe answers a schema that is not JSON"
	}
	return ""
}

// isSemantic finds common mistakes only: it requires three numbers, with an optional suffix.
func isSemantic(version string) bool {
	core, _, _ := strings.Cut(version, "+")
	core, _, _ = strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	for _, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" || (len(part) > 1 && part[0] == '0') {
			return false
		}
	}
	return len(parts) == 3
}
