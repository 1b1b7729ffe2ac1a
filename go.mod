module github.com/drawbridge-go/drawbridge

go 1.25.0
