// The main package around a program: the program itself is compiled, unchanged, as a package of another path, as
// `go test` does with the package under test. Its name sorts last, so that all else is initialised before it.
package main

import (
	"caretbench"

	_ "unsafe"
	_ "~main"
)

//go:linkname program ~main.main
func program()

func main() {
	program()
	caretbench.Ended()
}
