// The entry on the page: its form, which question is open, blanks, the difference from the reference.

const { diff, visible } = globalThis.caretbenchDiff;

export const formOf = (root) => root.querySelector("form.answers");

const answerOf = (field) => {
  if (field.dataset.kind === "text") return field.querySelector("textarea").value.trim() || undefined;
  const values = [...field.querySelectorAll("input:checked")].map((input) => input.value);
  if (!values.length) return undefined;
  return ["choice", "several"].includes(field.dataset.kind) ? values.join("+") : Number(values[0]);
};

export const answersOf = (form) => {
  const answers = {};
  for (const field of form.querySelectorAll("fieldset[data-question]:not([hidden])")) {
    const answer = answerOf(field);
    if (answer !== undefined) answers[field.dataset.question] = answer;
  }
  return answers;
};

export const setAnswers = (form, answers) => {
  for (const field of form.querySelectorAll("fieldset[data-question]")) {
    const answer = answers[field.dataset.question] ?? "";
    if (field.dataset.kind === "text") field.querySelector("textarea").value = answer;
    const values = String(answer).split("+");
    for (const input of field.querySelectorAll("input")) if (answer !== "") input.checked = values.includes(input.value);
  }
};

export const shownQuestions = (form) => [...form.querySelectorAll("fieldset[data-question]:not([hidden])")];

// Shows the questions that apply to the answers so far, and marks the active one: the named one, else the first without an
// answer, else the first. Returns the first without an answer, or null.
export const refreshQuestions = (form, name) => {
  for (const field of form.querySelectorAll("fieldset[data-question]")) {
    const answers = answersOf(form);
    const wanted = field.dataset.when.split(" ").filter(Boolean).map((text) => text.split("="));
    field.hidden = wanted.some(([other, value]) => !String(answers[other]).split("+").includes(value));
    field.classList.remove("active");
  }
  const shown = shownQuestions(form);
  for (const cell of form.querySelectorAll("td[data-yours]")) {
    const field = shown.find((one) => one.dataset.question === cell.dataset.yours);
    const chosen = field ? [...field.querySelectorAll("input:checked")] : [];
    const words = chosen.map((input) => (field.dataset.kind === "scale" ? input.value : input.getAttribute("aria-label")));
    cell.textContent = words.join("; ") || (field && answerOf(field)) || "";
  }
  const open = shown.find((field) => field.dataset.kind !== "text" && answerOf(field) === undefined) || null;
  (shown.find((field) => field.dataset.question === name) || open || shown[0]).classList.add("active");
  return open;
};

export const needsNote = (form) => [...form.querySelectorAll("input:checked[data-note]")].some((input) => !input.closest("fieldset").hidden)
  && !form.elements.note.value.trim();

// The input that a key chooses: of the active question by digits, of any question by letters.
export const inputOf = (form, key, keyOf) => {
  const byDigit = [...form.querySelectorAll("fieldset.active input")].find((input) => !input.parentElement.querySelector("kbd[data-key-of]") && input.dataset.key === key);
  if (byDigit) return byDigit;
  return [...form.querySelectorAll("fieldset:not([hidden]) input")].find((input) => {
    const shown = input.parentElement.querySelector("kbd[data-key-of]");
    return shown && keyOf(shown.dataset.keyOf) === key;
  });
};

export const drawDifference = (root, span, reference) => {
  const place = root.querySelector("details.reference pre.diff");
  if (!place) return;
  const parts = diff(reference, span);
  place.replaceChildren(...parts.map(([kind, text]) => {
    if (kind === "same") return document.createTextNode(text);
    const node = document.createElement(kind);
    node.textContent = /\S/.test(text) ? text : visible(text);
    return node;
  }));
};

export const showBlanks = (root, shown) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (walker.currentNode.parentElement.closest("code, pre") && !walker.currentNode.parentElement.closest(".sign")) nodes.push(walker.currentNode);
  for (const node of nodes) {
    if (shown && node.plain === undefined) {
      node.plain = node.data;
      node.data = node.data.replace(/ /g, "·").replace(/\t/g, "→\t");
    } else if (!shown && node.plain !== undefined) {
      node.data = node.plain;
      delete node.plain;
    }
  }
};

export const toggle = (root, selector) => {
  const found = [...root.querySelectorAll(selector)];
  const open = found.some((details) => !details.open);
  for (const details of found) details.open = open;
};

// The item begins at its top, below the header, with the span in the middle of its program: where the last answer was, a
// second tap would decide what nobody has read.
export const bringSpanIntoView = (root, top) => {
  const span = root.querySelector("mark");
  const frame = span?.closest(".code");
  if (frame) frame.scrollTop += span.getBoundingClientRect().top - frame.getBoundingClientRect().top - frame.clientHeight / 2;
  top.scrollIntoView({ block: "start" });
  span?.scrollIntoView({ block: "nearest", inline: "nearest" });
};
