package lockcheck

import (
	"os/exec"
	"strings"
	"testing"
)

// goroot returns where the Go distribution is that runs the test.
func goroot(t testing.TB) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
