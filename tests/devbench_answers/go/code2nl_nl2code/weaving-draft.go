package main

import (
	"fmt"
	"strconv"
	"strings"
)

// ends returns the first and the last shaft of an item such as "3" or "1-4".
func ends(item string, shafts int) (first, last int, err error) {
	from, to, isRun := strings.Cut(item, "-")
	if !isRun {
		to = from
	}
	first, errFirst := strconv.Atoi(from)
	last, errLast := strconv.Atoi(to)
	if errFirst != nil || errLast != nil || first < 1 || last < 1 || first > shafts || last > shafts {
		return 0, 0, fmt.Errorf("%q is not on a loom with %d shafts", item, shafts)
	}
	return first, last, nil
}

// Threading reads a draft for a hand loom and returns the shaft of every thread, from left to right.
//
// The items of a draft are separated by blanks. A number stands for one thread on that shaft. Two numbers with a hyphen
// are a run: one thread on each shaft from the first to the last, both included, upwards or downwards. A run from
// a shaft to itself is one thread. A draft without items has no threads, and the result is empty but not nil.
//
// If an item is wrong the result is nil, and the error begins with "thread N: ", the number of the first thread that
// the item would have threaded, before what ends says about it.
func Threading(draft string, shafts int) ([]int, error) {
⟦	threads := []int{}
	for _, item := range strings.Fields(draft) {
		first, last, err := ends(item, shafts)
		if err != nil {
			return nil, fmt.Errorf("thread %d: %w", len(threads)+1, err)
		}
		step := 1
		if last < first {
			step = -1
		}
		for shaft := first; shaft != last+step; shaft += step {
			threads = append(threads, shaft)
		}
	}
	return threads, nil
⟧}
⟦tests⟧

func expect(draft, want string) {
	got, err := Threading(draft, 8)
	if err != nil || got == nil || fmt.Sprint(got) != want {
		panic(fmt.Sprintf("%q: %v %v", draft, got, err))
	}
}

func main() {
	expect("", "[]")
	expect("  ", "[]")
	expect("3", "[3]")
	expect("1-4", "[1 2 3 4]")
	expect("8-6 5 5-5  1", "[8 7 6 5 5 1]")
	expect("1-3 2 1-2", "[1 2 3 2 1 2]")
	for draft, want := range map[string]string{
		"0":         `thread 1: "0" is not on a loom with 4 shafts`,
		"1-4 2 4-5": `thread 6: "4-5" is not on a loom with 4 shafts`,
		"2 x":       `thread 2: "x" is not on a loom with 4 shafts`,
	} {
		if got, err := Threading(draft, 4); got != nil || err == nil || err.Error() != want {
			panic(fmt.Sprint(got, err))
		}
	}
}
