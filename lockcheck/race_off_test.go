//go:build !race

package lockcheck

const raceEnabled = false
