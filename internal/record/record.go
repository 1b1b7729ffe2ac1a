// Package record keeps figures in a document as the command that makes them has
// printed them.
package record

import (
	"bytes"
	"fmt"
	"os"
	"slices"
)

// Write replaces what is in a file between the line <!-- name --> and the next
// <!-- end -->.
func Write(file, name, text string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end -->")
	i := bytes.Index(data, begin)
	if i < 0 {
		return fmt.Errorf("%q has no line %q", file, begin)
	}
	i += len(begin)
	j := bytes.Index(data[i:], end)
	if j < 0 {
		return fmt.Errorf("%q has no %q after it", file, end)
	}
	return os.WriteFile(file, slices.Concat(data[:i], []byte("\n"+text+"\n"), data[i+j:]), 0o666)
}
