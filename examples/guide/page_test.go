package guide_test

import (
	"os"
	"strings"
	"testing"
)

// flat is text without indentation, so that a snippet may stand further left
// on the page than in its function.
func flat(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// blocks returns the fenced blocks of a page that are in this language.
func blocks(page, language string) (found []string) {
	for i, block := range strings.Split("\n"+page, "\n```") {
		if body, ok := strings.CutPrefix(block, language+"\n"); ok && i%2 == 1 {
			found = append(found, body)
		}
	}
	return found
}

// strangers returns the snippets of a page that are not in the examples, and
// outputs that no example has.
func strangers(page, examples string) (found []string) {
	examples = flat(examples)
	for _, snippet := range blocks(page, "go") {
		if !strings.Contains(examples, flat(snippet)) {
			found = append(found, snippet)
		}
	}
	for _, output := range blocks(page, "output") {
		comment := "// Output:\n// " + strings.ReplaceAll(flat(output), "\n", "\n// ") + "\n}"
		if !strings.Contains(examples, comment) && !strings.Contains(examples, strings.Replace(comment, ":\n//", ":", 1)) {
			found = append(found, output)
		}
	}
	return found
}

func TestSnippetsOfTheGuideAreExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(blocks(string(page), "go")); n < 6 {
		t.Errorf("the page has %d snippets; are its fences as they should be?", n)
	}
	for _, snippet := range strangers(string(page), string(examples)) {
		t.Errorf("the guide has what no example here has:\n%s", snippet)
	}
}

func TestChangedSnippetIsFound(t *testing.T) {
	const examples = "func Example() {\n\ta := 1\n\tfmt.Println(a)\n\t// Output: 1\n}\n"
	for page, want := range map[string]int{
		"text\n```go\na := 1\nfmt.Println(a)\n```\n```output\n1\n```\n": 0,
		"```go\na := 2\n```\n":                     1,
		"```go\na := 1\n```\nx\n```output\n2\n```": 1,
		"```sh\ngo test\n```\n```go\nb := 1\n```":  1,
	} {
		if got := strangers(page, examples); len(got) != want {
			t.Errorf("%q: %d strangers %q, want %d", page, len(got), got, want)
		}
	}
}
