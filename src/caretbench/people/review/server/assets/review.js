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
const gone = new Map(); // moment at which an entry left this page, by key

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
const sync = makeSync(store, {
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
    }
  },
  onRefused: (event, reason) => { showError(`A decision was refused: ${reason}`); },
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
const draw = () => {
  const entry = entries[0];
  if (!entry) {
    const [className, textContent] = isEnd ? ["done", "Nothing is left for you now. Thank you."] : ["awaited", "The next items come from the server in a moment."];
    root.replaceChildren(Object.assign(document.createElement("p"), { className, textContent }));
    const undo = Object.assign(document.createElement("button"), { type: "button", textContent: "Undo the last decision" });
    undo.dataset.action = "undo";
    root.append(undo);
    return;
  }
  performance.mark("shown");
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
  view.refreshQuestions(form);
  view.bringSpanIntoView(root);
  active = 0;
  say(`Next item. ${progress.done} of ${progress.total} decided.`);
};

const send = async (kind, extra = {}) => {
  const entry = entries[0];
  const form = view.formOf(root);
  const event = {
    id: newId(), kind, item: entry.item, repeat: entry.repeat, protocol: settings.protocol,
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
const decide = async () => {
  const form = view.formOf(root);
  const open = view.refreshQuestions(form);
  if (open) return showError(`Not answered yet: ${open.querySelector("legend").firstChild.textContent.trim()}`);
  if (view.needsNote(form)) {
    showError("This answer needs a note; Ctrl+Enter or Send sends it.");
    return form.elements.note.focus();
  }
  return send("decision", { answers: view.answersOf(form) });
};

const undo = async () => {
  const last = decided.pop() || await lastOnServer();
  if (!last) return showError("There is nothing to undo.");
  const event = {
    id: newId(), kind: "withdrawal", item: last.item, repeat: last.repeat, protocol: settings.protocol,
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
const lastOnServer = async () => {
  const events = [...await store.confirmed(), ...await store.waiting()].sort((a, b) => a.made_at < b.made_at ? -1 : 1);
  const held = new Map();
  for (const event of events) if (event.kind === "withdrawal") held.delete(keyOf(event)); else if (event.kind === "decision") { held.delete(keyOf(event)); held.set(keyOf(event), event); }
  const last = [...held.values()].pop();
  if (!last) return null;
  return { ...await sync.entry(last.item, last.repeat), restored: { answers: last.answers, note: last.note } };
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
  input.checked = true;
  changed();
};
const changed = () => {
  const form = view.formOf(root);
  const open = view.refreshQuestions(form);
  saveDraft();
  if (!open && !view.needsNote(form)) enqueue(decide);
  else if (!open) form.elements.note.focus();
};
const saveDraft = () => {
  const form = view.formOf(root);
  if (!form || !entries[0]) return;
  const draft = { key: keyOf(entries[0]), answers: view.answersOf(form), note: form.elements.note.value };
  drafts.set(draft.key, draft);
  store.saveDraft(draft).catch(() => {});
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
    if (event.key === "Enter" && event.ctrlKey) enqueue(decide);
    return;
  }
  if (event.target instanceof HTMLTextAreaElement) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "?") { event.preventDefault(); openKeys(); return; }
  const key = event.key;
  enqueue(() => {
    const form = view.formOf(root);
    const input = form && view.inputOf(form, key, keys.keyOf);
    if (input) return choose(input);
    const action = keys.action(key);
    return action && actions[action] ? actions[action]() : undefined;
  });
  if (/^[a-z0-9]$/.test(key)) event.preventDefault();
});
document.addEventListener("click", (event) => {
  const action = event.target.closest?.("[data-action]")?.dataset.action;
  if (!action) return;
  event.preventDefault();
  enqueue(actions[action]);
});
root.addEventListener("change", (event) => { if (event.target.matches("input[type=radio]")) changed(); });
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
if (first) { keys.learn(first); view.refreshQuestions(first); }
await sync.send();
await fill();
setInterval(() => { if (entries.length < HELD / 2) fill(); }, 10000);
document.documentElement.dataset.ready = "1";
