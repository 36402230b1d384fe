package main

import "sync"

func merge[T any](feeds ...<-chan T) <-chan T {
	merged := make(chan T)
	var open sync.WaitGroup
	for _, feed := range feeds {
		open.Add(1)
⟦		go func(feed <-chan T) {
			defer open.Done()
			for value := range feed {
				merged <- value
			}
		}(feed)
⟧	}
	go func() { open.Wait(); close(merged) }()
	return merged
}
⟦tests⟧

func feed(values ...int) <-chan int {
	out := make(chan int)
	go func() {
		for _, value := range values {
			out <- value
		}
		close(out)
	}()
	return out
}

func main() {
	seen := map[int]int{}
	last := map[int]int{}
	for value := range merge(feed(11, 12, 13), feed(), feed(21), feed(31, 32)) {
		seen[value]++
		if last[value/10] >= value {
			panic("the order of a feed has changed")
		}
		last[value/10] = value
	}
	if len(seen) != 6 || seen[13] != 1 || seen[21] != 1 || seen[32] != 1 {
		panic("values are missing")
	}
	if _, open := <-merge[string](); open {
		panic("no feed gave a value")
	}
}
