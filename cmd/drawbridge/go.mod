module github.com/drawbridge-go/drawbridge/cmd/drawbridge

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/alecthomas/kong v1.17.0
	github.com/charmbracelet/colorprofile v0.4.3
	github.com/charmbracelet/x/term v0.2.2
	charm.land/lipgloss/v2 v2.1.1
	github.com/drawbridge-go/drawbridge v0.1.0
	github.com/schollz/progressbar/v3 v3.19.1
	golang.org/x/sync v0.25.0
	golang.org/x/term v0.48.0
)
