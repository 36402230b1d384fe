package main

import (
	"fmt"
	"sort"
)

// Timetable holds the departures of one bus stop, in minutes after midnight. Buses run every day.
type Timetable struct {
	line       string
	departures []int
}

// NewTimetable returns the timetable of a line; the departures may come in any order.
func NewTimetable(line string, departures ...int) Timetable {
	sorted := append([]int(nil), departures...)
	sort.Ints(sorted)
	return Timetable{line: line, departures: sorted}
}

// Wait returns the minutes from now until the next bus leaves; one that leaves now can be caught. After the last bus of
// a day the first one of the next day counts. It returns false if no bus ever leaves.
func (t Timetable) Wait(now int) (int, bool) {
	if len(t.departures) == 0 {
		return 0, false
	}
	next := sort.⟦SearchInts(t.departures, now)
	if next == len(t.departures) {
		return 24*60 - now + t.departures[0], true
	}
	return t.departures[next] - now, true
⟧}

// Board returns the lines of a display at a stop: the soonest bus first, equal ones by line.
func Board(now int, timetables []Timetable) []string {
	rows := make([]Timetable, 0, len(timetables))
	for _, t := range timetables {
		if _, ok := t.Wait(now); ok {
			rows = append(rows, t)
		}
	}
	sort.Slice(rows, func(i, j int) bool {
		one, _ := rows[i].Wait(now)
		other, _ := rows[j].Wait(now)
		if one != other {
			return one < other
		}
		return rows[i].line < rows[j].line
	})
	board := make([]string, len(rows))
	for i, t := range rows {
		wait, _ := t.Wait(now)
		board[i] = fmt.Sprintf("%s %d", t.line, wait)
	}
	return board
}
⟦tests⟧

func expect(t Timetable, now, wait int) {
	if got, ok := t.Wait(now); !ok || got != wait {
		panic(fmt.Sprintf("at %d: waited %d, not %d", now, got, wait))
	}
}

func main() {
	harbour := NewTimetable("H", 1380, 360, 400, 440)
	expect(harbour, 0, 360)
	expect(harbour, 360, 0)
	expect(harbour, 361, 39)
	expect(harbour, 440, 0)
	expect(harbour, 1381, 419)
	expect(harbour, 1439, 361)
	if _, ok := NewTimetable("X").Wait(5); ok {
		panic("a bus that never leaves")
	}
	board := Board(1390, []Timetable{harbour, NewTimetable("K", 1395, 10), NewTimetable("X"), NewTimetable("C", 1395)})
	if fmt.Sprint(board) != "[C 5 K 5 H 410]" {
		panic(fmt.Sprint(board))
	}
}
