//go:build race

package lockcheck

const raceEnabled = true
