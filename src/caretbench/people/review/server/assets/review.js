// The review page: entries that are held in advance, decisions by single keys, all of it kept until the server has it.

import { keyDialog, makeKeys } from "./keys.js";
import { openStore } from "./store.js";
import { makeSync } from "./sync.js";
import * as view from "./view.js";

const settings = JSON.parse(document.getElementById("settings").textContent);
const scope = `caretbench-review-${settings.review}-${settings.person}`;
const root = document.getElementById("entry");
const [live, waitingLine, feedback, progressLine] = ["live", "waiting", "feedback", "progress"].map((id) => document.getElementById(id));
const ACTIONS = {
  "undo": "undo", "later": "later", "note": "note", "guidelines": "guidelines", "show blanks": "blanks",
  "difference from the reference": "difference", "tests": "tests", "unfold all lines": "unfold", "ask them again": "back",
};
const defaults = Object.fromEntries(Object.entries(settings.keys).filter(([name]) => ACTIONS[name]).map(([name, key]) => [ACTIONS[name], key]));
const keys = makeKeys(defaults, `${scope}-keys`);
const tabs = new BroadcastChannel(scope);

let entries = []; // those that are held, the open one first
let decided = []; // those that can be undone without the server, the last one last
let progress = { done: 0, total: 0 };
let blanks = false;
let drafts = new Map();
let isEnd = false; // the server's last answer had the whole rest of the queue
let stranger = null; // message while the browser is another person's
let pointed = null; // input under the pointer when it went down
let shownAt = 0; // moment at which the open entry was shown
let wasComplete = false; // the open entry's form had no open question when it was last looked at
const gone = new Map(); // moment at which an entry left this page, by key

const TWICE = 300; // milliseconds in which a second tap belongs to the item before
const HELD = 20; // entries that a browser holds, and that can be undone without the server
const RETRY = 1000; // milliseconds until the server is asked again while no entry is there
const keyOf = (entry) => `${entry.item}:${entry.repeat}`;
const newId = () => crypto.randomUUID().replaceAll("-", "");
const say = (text) => { live.textContent = text; };

// --- active time: seconds in which the page is visible and a key or the pointer was used in the last 30 ---
const IDLE = 30000;
let active = 0;
let lastUse = performance.now();
for (const kind of ["keydown", "pointerdown", "pointermove", "wheel"]) addEventListener(kind, () => { lastUse = performance.now(); }, { passive: true });
setInterval(() => { if (document.visibilityState === "visible" && performance.now() - lastUse < IDLE) active += 0.25; }, 250);

// --- store and server ---
const store = await openStore(scope);
const sync = makeSync(store, settings, {
  onState: (count, error) => {
    document.documentElement.toggleAttribute("data-sending", count > 0);
    waitingLine.hidden = !count && !error;
    const what = count ? `${count} ${count === 1 ? "decision waits" : "decisions wait"} for the server; kept in this browser` : "The server does not answer";
    waitingLine.textContent = error ? `${what} (${error.message}).` : `${what}.`;
  },
  onAnswer: (answer) => {
    progress = answer;
    drawProgress();
    for (const one of answer.warm_up || []) {
      feedback.hidden = false;
      feedback.textContent = `Warm-up: ${one.right ? "right" : "not what was expected"}. ${one.explanation}`;
      feedback.scrollIntoView({ block: "nearest" });
    }
  },
  onRefused: (event, reason) => {
    // An undo that does not hold leaves nothing to decide.
    if (event.kind === "withdrawal" && entries[0]?.restored && keyOf(entries[0]) === keyOf(event)) {
      entries.shift();
      draw();
    }
    feedback.hidden = false;
    feedback.textContent = `Refused: ${reason}`;
  },
  // Nobody decides on the page of somebody else; what was decided here waits for its person.
  onForeign: (message) => {
    if (message === stranger) return;
    stranger = message;
    [entries, decided, isEnd] = [[], [], false];
    draw();
  },
});

const drawProgress = () => { progressLine.textContent = `${progress.done} of ${progress.total}`; };
const showError = (text) => {
  const place = root.querySelector(".error") || feedback;
  place.hidden = false;
  place.textContent = text;
};

let filling = null;
const fill = () => {
  filling = filling || fetchEntries().catch(() => {}).finally(() => {
    filling = null;
    if (!entries.length && !isEnd) setTimeout(fill, RETRY);
  });
  return filling;
};
const fetchEntries = async () => {
  // The server may make its answer before it gets the last decisions of this page: these entries are not open.
  const sent = performance.now();
  const leaving = new Set((await store.waiting()).filter((event) => event.kind !== "withdrawal").map(keyOf));
  const answer = await sync.queue(entries.map(keyOf));
  const held = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const isOpen = (entry) => entry && !leaving.has(keyOf(entry)) && !(gone.get(keyOf(entry)) >= sent);
  const next = answer.entries.map((entry) => entry.html === undefined ? held.get(keyOf(entry)) : entry).filter(isOpen);
  const open = entries[0];
  const stays = open && (open.restored || next.some((entry) => keyOf(entry) === keyOf(open)));
  entries = stays ? [open, ...next.filter((entry) => keyOf(entry) !== keyOf(open))] : next;
  isEnd = answer.entries.length < HELD;
  progress = answer;
  drawProgress();
  if (!stays) draw();
};

// --- the open entry ---
const note = (className, textContent) => root.replaceChildren(Object.assign(document.createElement("p"), { className, textContent }));
const draw = () => {
  const entry = entries[0];
  if (stranger) return note("awaited foreign", stranger);
  if (!entry) {
    if (isEnd) note("done", "Nothing is left for you now. Thank you."); else note("awaited", "The next items come from the server in a moment.");
    const undo = Object.assign(document.createElement("button"), { type: "button", textContent: "Undo the last decision" });
    undo.dataset.action = "undo";
    return root.append(undo);
  }
  performance.mark("shown");
  shownAt = performance.now();
  const hadFocus = root.contains(document.activeElement);
  root.innerHTML = entry.html; // rendered and escaped by the server
  const form = view.formOf(root);
  const draft = drafts.get(keyOf(entry)) || entry.restored;
  if (draft) {
    view.setAnswers(form, draft.answers);
    form.elements.note.value = draft.note;
  }
  keys.learn(form);
  keys.show(document);
  if (entry.reference !== null && entry.reference !== undefined) view.drawDifference(root, entry.span, entry.reference);
  if (blanks) view.showBlanks(root, true);
  refresh();
  view.bringSpanIntoView(root, feedback.hidden ? root : feedback);
  // Whoever goes on by Tab and arrows begins at the first question, not at the top of the page.
  if (hadFocus) form.querySelector("fieldset:not([hidden]) input")?.focus({ preventScroll: true });
  active = 0;
  return say(`Next item. ${progress.done} of ${progress.total} decided.`);
};

const send = async (kind, extra = {}) => {
  const entry = entries[0];
  const form = view.formOf(root);
  const event = {
    id: newId(), kind, person: settings.person, item: entry.item, repeat: entry.repeat, protocol: settings.protocol,
    made_at: new Date().toISOString(), note: form.elements.note.value, active_s: active, ...extra,
  };
  await store.add(event, keyOf(entry));
  document.documentElement.toggleAttribute("data-sending", true);
  drafts.delete(keyOf(entry));
  gone.set(keyOf(entry), performance.now());
  entries.shift();
  if (kind === "decision") {
    decided = [...decided.slice(-HELD), { ...entry, restored: { answers: event.answers, note: event.note } }];
    progress = { ...progress, done: progress.done + 1 };
    drawProgress();
  }
  draw();
  tabs.postMessage({ gone: keyOf(entry) });
  sync.send().then(fill);
};
const refresh = (name) => {
  const open = view.refreshQuestions(view.formOf(root), name);
  wasComplete = !open;
  return open;
};
const decide = async () => {
  const form = view.formOf(root);
  if (!form) return undefined;
  const open = refresh();
  if (open) return showError(`Not answered yet: ${open.querySelector("legend").textContent.trim()}`);
  if (view.needsNote(form)) {
    showError("This answer needs a note; Ctrl+Enter or Send sends it.");
    return form.elements.note.focus();
  }
  return send("decision", { answers: view.answersOf(form) });
};

const undo = async () => {
  const last = stranger ? null : decided.pop() || await lastKept();
  if (!last?.html) return showError("There is nothing to undo.");
  const event = {
    id: newId(), kind: "withdrawal", person: settings.person, item: last.item, repeat: last.repeat, protocol: settings.protocol,
    made_at: new Date().toISOString(), answers: {}, note: "", active_s: 0,
  };
  await store.add(event, keyOf(last));
  document.documentElement.toggleAttribute("data-sending", true);
  progress = { ...progress, done: Math.max(0, progress.done - 1) };
  gone.delete(keyOf(last));
  entries = [last, ...entries.filter((entry) => keyOf(entry) !== keyOf(last))];
  drawProgress();
  draw();
  say("Undone. The item is open again, with your answers.");
  sync.send();
  return undefined;
};
// The last decision from before the page was opened: of those that wait, else of the server's.
const lastKept = async () => {
  const kept = new Map();
  for (const event of await store.waiting()) {
    kept.delete(keyOf(event));
    if (event.kind === "decision") kept.set(keyOf(event), event);
  }
  const last = [...kept.values()].pop();
  return last ? { ...await sync.entry(last.item, last.repeat), restored: { answers: last.answers, note: last.note } } : sync.last();
};

const askAgain = () => {
  const form = view.formOf(root);
  if (!form.elements.note.value.trim()) {
    showError("Say in a note what to look at again.");
    return form.elements.note.focus();
  }
  return send("send_back", { answers: {} });
};

const guidelines = document.getElementById("guidelines");
guidelines.querySelector("[data-close]").addEventListener("click", () => guidelines.close());
const openKeys = keyDialog(keys, document.getElementById("keys"), () => keys.show(document));
const actions = {
  undo, guidelines: () => guidelines.showModal(), keys: openKeys,
  later: () => entries.length && send("later", { answers: {} }),
  note: () => view.formOf(root)?.elements.note.focus(),
  blanks: () => { blanks = !blanks; view.showBlanks(root, blanks); },
  difference: () => view.toggle(root, "details.reference"),
  tests: () => view.toggle(root, "details.tests"),
  unfold: () => view.toggle(root, "details.fold"),
  back: () => root.querySelector("[data-action=back]") && askAgain(),
};

// One thing at a time: a key that comes while a decision is being written waits for it.
let busy = Promise.resolve();
const enqueue = (work) => { busy = busy.then(work).catch((error) => showError(`Not kept: ${error.message}. Do not close this page.`)); };

const choose = (input) => {
  const isBox = input.type === "checkbox";
  input.checked = !(isBox && input.checked);
  answered(input, !isBox);
};
// An answer by a key or the pointer sends where it is the last one. An arrow or a blank only chooses: those who go through
// a scale by arrows have not decided yet.
const answered = (input, mayEnd) => {
  const form = view.formOf(root);
  const field = input.closest("fieldset");
  const before = wasComplete;
  const open = refresh(mayEnd ? undefined : field.dataset.question);
  saveDraft();
  if (open || !mayEnd) return;
  const shown = view.shownQuestions(form);
  const next = shown[shown.indexOf(field) + 1];
  // After an undo everything is answered: the digits go through the questions, and the last one sends.
  const words = shown.find((one) => one.dataset.kind === "text");
  if (before && next) refresh(next.dataset.question);
  // A text may stay empty, so that it is not known when it ends.
  else if (words) words.querySelector("textarea").focus();
  else if (view.needsNote(form)) form.elements.note.focus();
  else enqueue(decide);
};
const saveDraft = () => {
  const form = view.formOf(root);
  if (!form || !entries[0]) return;
  const draft = { key: keyOf(entries[0]), answers: view.answersOf(form), note: form.elements.note.value };
  drafts.set(draft.key, draft);
  store.saveDraft(draft).catch(() => {});
};

addEventListener("keydown", (event) => {
  pointed = null;
  if (document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Enter" && event.ctrlKey && !event.repeat) enqueue(decide);
    return;
  }
  if (event.target instanceof HTMLTextAreaElement) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = event.key;
  if (/^[a-z0-9]$/.test(key)) event.preventDefault();
  // A key that is held down would answer one item after the other.
  if (event.repeat) return;
  if (key === "?") { event.preventDefault(); openKeys(); return; }
  if (key === "Enter" && !event.target.closest("button, a, summary, input")) enqueue(decide);
  enqueue(() => {
    const form = view.formOf(root);
    const input = form && view.inputOf(form, key, keys.keyOf);
    if (input) return choose(input);
    const action = keys.action(key);
    return action && actions[action] ? actions[action]() : undefined;
  });
});
addEventListener("pointerdown", (event) => {
  const isSecond = performance.now() - shownAt < TWICE;
  pointed = isSecond ? null : event.target.closest?.("label")?.querySelector("input[type=radio]") || null;
});
document.addEventListener("click", (event) => {
  const action = event.target.closest?.("[data-action]")?.dataset.action;
  // An arrow makes a click, too; only the pointer went down before.
  if (event.target === pointed) answered(pointed, true);
  if (!action) return;
  event.preventDefault();
  enqueue(actions[action]);
});
root.addEventListener("change", (event) => { if (event.target.matches("fieldset input") && event.target !== pointed) answered(event.target, false); });
root.addEventListener("focusin", (event) => {
  const field = event.target.closest("fieldset[data-question]");
  if (field) refresh(field.dataset.question);
});
root.addEventListener("input", (event) => { if (event.target.matches("textarea")) saveDraft(); });
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.answers")) return;
  event.preventDefault();
  enqueue(decide);
});
tabs.addEventListener("message", ({ data }) => {
  const was = entries[0] && keyOf(entries[0]);
  gone.set(data.gone, performance.now());
  entries = entries.filter((entry) => keyOf(entry) !== data.gone);
  if (was === data.gone) draw();
  fill();
});
addEventListener("online", () => sync.send().then(fill));
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") sync.send().then(fill); });

drafts = await store.drafts();
keys.show(document);
const first = view.formOf(root);
if (first) { keys.learn(first); refresh(); }
await sync.send();
if (settings.open) {
  // An item that was taken back from the list of decisions comes first.
  history.replaceState(null, "", `${settings.root}/`);
  entries = [{ restored: { answers: {}, note: "" }, ...await sync.entry(...settings.open) }];
  draw();
}
await fill();
setInterval(() => { if (entries.length < HELD / 2) fill(); }, 10000);
document.documentElement.dataset.ready = "1";
