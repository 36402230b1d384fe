// Compiles Go programs by the toolchain's own compiler and linker, without the go command, for as long as it is asked to.
//
// usage: GoCompile TOOLS COMPILERS CPU_SECONDS
//
// TOOLS holds `importcfg` (where the standard library's packages lie), `caretbench.a` and `go_main.go`; COMPILERS the
// toolchain's `compile` and `link`. A request on standard input is a line "ID PROFILE BYTES" and so many bytes of program
// text. {"ready": true} is printed first, then one JSON line per program: {"id", "kind", "missing", "diagnostics",
// "seconds", "files"}; the one file, in base64, is `program`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

const (
	longest = 4000 // bytes of diagnostics
	source  = "main.go"
)

var (
	complaint = regexp.MustCompile(`(?m)^main\.go:\d+:\d+: (.*)$`)
	notThere  = regexp.MustCompile(`^could not import (\S+) `)
)

type answer struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	Missing     *string           `json:"missing"`
	Diagnostics string            `json:"diagnostics"`
	Seconds     float64           `json:"seconds"`
	Files       map[string][]byte `json:"files,omitempty"`
}

type builder struct {
	tools, compilers, seconds string
	packages                  string          // the text of importcfg
	known                     map[string]bool // every package of the standard library
	spent                     float64
}

func main() {
	arguments := os.Args[1:]
	build := builder{tools: arguments[0], compilers: arguments[1], seconds: arguments[2], known: map[string]bool{}}
	text, err := os.ReadFile(filepath.Join(build.tools, "importcfg"))
	must(err)
	// They lie where this folder was bound when the file was made, and where it is now.
	build.packages = strings.ReplaceAll(string(text), "=/caretbench/go/", "="+build.tools+"/")
	for _, line := range strings.Split(build.packages, "\n") {
		if name, _, found := strings.Cut(strings.TrimPrefix(line, "packagefile "), "="); found {
			build.known[name] = true
		}
	}
	say := json.NewEncoder(os.Stdout)
	requests := bufio.NewReader(os.Stdin)
	must(say.Encode(map[string]bool{"ready": true}))
	for {
		header, err := requests.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(header)
		size, err := strconv.Atoi(words[2])
		must(err)
		text := make([]byte, size)
		if _, err := io.ReadFull(requests, text); err != nil {
			return
		}
		build.spent = 0
		result := build.program(text, words[1])
		result.ID, result.Seconds = words[0], build.spent
		if len(result.Diagnostics) > longest {
			result.Diagnostics = result.Diagnostics[:longest]
		}
		must(say.Encode(result))
	}
}

// program compiles and links one program in a folder of its own.
func (build *builder) program(text []byte, profile string) answer {
	folder, err := os.MkdirTemp("", "go-")
	must(err)
	defer os.RemoveAll(folder)
	must(os.WriteFile(filepath.Join(folder, source), text, 0o600))
	file, _ := parser.ParseFile(token.NewFileSet(), source, text, parser.ImportsOnly)
	if file != nil && file.Name != nil && file.Name.Name != "main" && file.Name.Name != "_" {
		return answer{Kind: "package", Diagnostics: fmt.Sprintf("package %s is not a main package", file.Name.Name)}
	}
	path := "~main"
	if profile == "paper" {
		path = "main"
	}
	public := folder + "/public.importcfg"
	must(os.WriteFile(public, []byte(build.public()), 0o600))
	said, failure := build.run(
		folder, "compile", "-p", path, "-complete", "-trimpath", folder, "-importcfg", public, "-o", "program.a", source,
	)
	if failure != "" {
		return build.complaint(said, failure)
	}
	object := "program.a"
	if profile != "paper" {
		every := build.packages + "packagefile caretbench=" + build.tools + "/caretbench.a\npackagefile ~main=program.a\n"
		must(os.WriteFile(folder+"/importcfg", []byte(every), 0o600))
		object = "main.a"
		said, failure = build.run(
			folder, "compile", "-p", "main", "-importcfg", "importcfg", "-o", object, build.tools+"/go_main.go",
		)
	} else {
		must(os.WriteFile(folder+"/importcfg", []byte(build.packages), 0o600))
	}
	if failure == "" {
		said, failure = build.run(folder, "link", "-s", "-w", "-importcfg", "importcfg", "-o", "program", object)
	}
	if failure != "" {
		return answer{Kind: failure, Diagnostics: said}
	}
	linked, err := os.ReadFile(filepath.Join(folder, "program"))
	must(err)
	return answer{Kind: "ok", Files: map[string][]byte{"program": linked}}
}

// public gives the packages that a program may import: not those that only the standard library may.
func (build *builder) public() string {
	var lines []string
	for _, line := range strings.Split(build.packages, "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "packagefile "), "=")
		inside := "/" + name + "/"
		if !strings.Contains(inside, "/internal/") && !strings.HasPrefix(name, "vendor/") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// complaint says whether a package that is not of the standard library is all that is missing.
func (build *builder) complaint(said, failure string) answer {
	result := answer{Kind: failure, Diagnostics: said}
	only := failure == "compile"
	for _, found := range complaint.FindAllStringSubmatch(said, -1) {
		absent := notThere.FindStringSubmatch(found[1])
		if absent == nil || build.known[absent[1]] || absent[1] == "C" {
			only = false
		} else if result.Missing == nil {
			result.Missing = &absent[1]
		}
	}
	if only && result.Missing != nil {
		result.Kind = "module"
	}
	return result
}

// run starts one of the toolchain's programs; `failure` is empty, `timeout`, or the program's name.
func (build *builder) run(folder, name string, arguments ...string) (said, failure string) {
	limited := []string{"-c", `ulimit -t "$0"; exec "$@"`, build.seconds, filepath.Join(build.compilers, name)}
	command := exec.Command("/bin/sh", append(limited, arguments...)...)
	command.Dir = folder
	text, err := command.CombinedOutput()
	if state := command.ProcessState; state != nil {
		build.spent += (state.UserTime() + state.SystemTime()).Seconds()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			return "it took too long", "timeout"
		}
	}
	if err != nil {
		return string(text) + "\n" + err.Error(), name
	}
	return "", ""
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
