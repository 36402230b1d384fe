package main

import (
	"fmt"
	"sort"
	"strings"
)

// A herbarium exports its catalogue as a tree: a map of drawers by name, a list of what lies in a drawer, the name of
// a specimen, or the number of specimens that are not named yet.

// Finding is a specimen with the drawers that lead to it.
type Finding struct {
	Drawers  string
	Specimen string
}

// Walk calls visit for every specimen of a tree: drawers by name, lists in their order, with the names of the drawers
// joined by a slash. Unnamed specimens are visited one by one as "unnamed 1" and so on, anew in each place. An
// empty name is no specimen. Anything else in the tree is an error that names its drawers, and ends the walk.
func Walk(tree any, drawers []string, visit func(Finding)) error {
	place := strings.Join(drawers, "/")
	switch node := tree.(type) {
	case map[string]any:
		names := make([]string, 0, len(node))
		for name := range node {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			if err := Walk(node[name], append(drawers[:len(drawers):len(drawers)], name), visit); err != nil {
				return err
			}
		}
⟦	case []any:
		for _, item := range node {
			if err := Walk(item, drawers, visit); err != nil {
				return err
			}
		}
	case string:
		if node != "" {
			visit(Finding{place, node})
		}
	case int:
		for number := 1; number <= node; number++ {
			visit(Finding{place, fmt.Sprintf("unnamed %d", number)})
		}
⟧	default:
		return fmt.Errorf("%s: unexpected %T", place, node)
	}
	return nil
}
⟦tests⟧

func list(tree any) (string, error) {
	lines := []string{}
	err := Walk(tree, nil, func(f Finding) { lines = append(lines, f.Drawers+":"+f.Specimen) })
	return strings.Join(lines, " "), err
}

func expect(tree any, want string) {
	if got, err := list(tree); err != nil || got != want {
		panic(fmt.Sprint(got, err))
	}
}

func main() {
	expect(map[string]any{
		"moss": map[string]any{"b": []any{"peat", 2, "", []any{"feather"}}, "a": "fork"},
		"fern": []any{1, map[string]any{"x": "bracken"}},
	}, "fern:unnamed 1 fern/x:bracken moss/a:fork moss/b:peat moss/b:unnamed 1 moss/b:unnamed 2 moss/b:feather")
	expect("yew", ":yew")
	expect([]any{}, "")
	expect(0, "")
	expect(-3, "")
	for _, wrong := range []any{2.5, nil, true} {
		got, err := list(map[string]any{"a": "ivy", "b": map[string]any{"c": []any{"elm", wrong, "oak"}}, "d": "fig"})
		if err == nil || err.Error() != fmt.Sprintf("b/c: unexpected %T", wrong) || got != "a:ivy b/c:elm" {
			panic(fmt.Sprint(got, err))
		}
	}
}
