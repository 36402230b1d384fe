package main

// Log keeps its newest entries only.
type Log struct {
	entries []string
	next    int
}

// Add replaces the oldest entry when the log is full.
func (l *Log) Add(entry string) {
	if len(l.entries) < cap(l.entries) {
		l.entries = append(l.entries, entry)
		return
	}
	l.entries[⟦l.next] = entry
	l.next = (l.next + 1) % len(l.entries)
}
⟧
⟦tests⟧

func (l *Log) all() string {
	text := ""
	for i := range l.entries {
		text += l.entries[(l.next+i)%len(l.entries)]
	}
	return text
}

func main() {
	log := &Log{entries: make([]string, 0, 3)}
	wanted := []string{"a", "ab", "abc", "bcd", "cde", "def", "efg", "fgh"}
	for i, entry := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		log.Add(entry)
		if got := log.all(); got != wanted[i] || cap(log.entries) != 3 {
			panic(got)
		}
	}
	single := &Log{entries: make([]string, 0, 1)}
	single.Add("x")
	single.Add("y")
	if single.all() != "y" {
		panic("the old entry stayed")
	}
}
