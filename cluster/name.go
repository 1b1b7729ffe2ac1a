package cluster

import (
	"strings"
	"unicode/utf8"
)

// ValidName returns ErrName unless name is 1 to 1,024 bytes of UTF-8 without NUL. Any such name is a name of its own:
// "a/b" is not inside "a".
func ValidName(name string) error {
	if len(name) < 1 || len(name) > 1024 || strings.IndexByte(name, 0) >= 0 || !utf8.ValidString(name) {
		return ErrName
	}
	return nil
}
