package main

import (
	"container/heap"
	"fmt"
)

// Patient is an animal in the waiting room of a veterinary clinic.
type Patient struct {
	name    string
	urgency int
	arrived int
	place   int
}

type queue []*Patient

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].urgency != q[j].urgency {
		return q[i].urgency > q[j].urgency
	}
	return q[i].arrived < q[j].arrived
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(item any) {
	patient := item.(*Patient)
	patient.place = len(*q)
	*q = append(*q, patient)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	patient := (*q)[last]
	*q = (*q)[:last]
	return patient
}

// WaitingRoom calls the most urgent patient first, and of equally urgent ones the one that arrived first.
type WaitingRoom struct {
	queue   queue
	waiting map[string]*Patient
	arrived int
}

// Admit lets a patient in, or changes the urgency of one that is waiting already; it keeps its time of arrival.
func (w *WaitingRoom) Admit(name string, urgency int) {
	if w.waiting == nil {
		w.waiting = map[string]*Patient{}
	}
	if known, ok := w.waiting[name]; ok {
⟦		known.urgency = urgency
		heap.Fix(&w.queue, known.place)
		return
	}
	w.arrived++
	w.waiting[name] = &Patient{name: name, urgency: urgency, arrived: w.arrived}
	heap.Push(&w.queue, w.waiting[name])
}
⟧
// Call returns the name of the next patient, who leaves the room; "" if nobody waits.
func (w *WaitingRoom) Call() string {
	if w.queue.Len() == 0 {
		return ""
	}
	next := heap.Pop(&w.queue).(*Patient)
	delete(w.waiting, next.name)
	return next.name
}
⟦tests⟧

func calls(w *WaitingRoom, count int) string {
	names := []string{}
	for i := 0; i < count; i++ {
		names = append(names, w.Call())
	}
	return fmt.Sprint(names)
}

func expect(got, want string) {
	if got != want {
		panic(got + " instead of " + want)
	}
}

func main() {
	room := &WaitingRoom{}
	expect(room.Call(), "")
	for i, name := range []string{"cat", "dog", "hen", "ram", "pig", "cow"} {
		room.Admit(name, i%3)
	}
	expect(calls(room, 2), "[hen cow]")
	room.Admit("pig", 0)
	room.Admit("ram", 9)
	room.Admit("ewe", 1)
	expect(calls(room, 3), "[ram dog ewe]")
	room.Admit("ram", 0)
	expect(calls(room, 4), "[cat pig ram ]")
	room.Admit("fox", 1)
	room.Admit("fox", 1)
	expect(calls(room, 2), "[fox ]")
}
