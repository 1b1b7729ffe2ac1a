// Package guide has the snippets of docs/guide.md: each is an example here,
// which is compiled and run, and a test compares the page with them.
package guide
