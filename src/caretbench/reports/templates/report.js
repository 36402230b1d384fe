"use strict";
(() => {
  const island = (id) => {
    const element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : null;
  };
  const make = (tag, options = {}, ...children) => {
    const { data, ...rest } = options;
    const element = Object.assign(document.createElement(tag), rest);
    Object.assign(element.dataset, data || {});
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };

  // Tables sort by the value behind each field; numbers by size, words by the alphabet.
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => head.firstElementChild.addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      const direction = before ? (before === "ascending" ? -1 : 1) : numeric ? -1 : 1;
      const value = (row) => row.cells[place].dataset.v;
      const order = (a, b) => numeric ? value(a) - value(b) : value(a).localeCompare(value(b), "en", { numeric: true });
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort((a, b) => direction * order(a, b)));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    }));
  }

  // Rows are shown that have all words of the filter above their tables.
  for (const form of document.querySelectorAll("form.table-filter")) {
    const rows = [];
    for (let next = form.nextElementSibling; next?.matches(".table-block"); next = next.nextElementSibling) rows.push(...next.querySelectorAll("tbody tr"));
    form.addEventListener("input", () => {
      const words = form.querySelector("input").value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      form.querySelector("output").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  // Charts take their colours from the style sheet, so one drawing serves dark, light and print.
  const specs = island("chart-data") || {};
  const NARROW = 480;
  const phone = matchMedia("(max-width: 40rem)").matches;
  const fitted = (value, width) => {
    if (Array.isArray(value)) return value.map((item) => fitted(item, width));
    if (value === null || typeof value !== "object") return value;
    const found = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, name === "data" ? item : fitted(item, width)]));
    if (width < NARROW && found.labelLimit) found.labelLimit = Math.min(found.labelLimit, 110);
    if (width < NARROW && found.labelAngle === 0) Object.assign(found, { labelAngle: -90, labelLimit: 110, labelExpr: "datum.label" });
    if (found.facet && found.spec) {
      const columns = found.columns || 1;
      if (width < NARROW && found.columns) found.columns = 1;
      found.spec = { ...found.spec, width: Math.max(120, (width < NARROW ? width - 190 : width / columns - 230)) };
      delete found.width; delete found.autosize; delete found.height;
    }
    return found;
  };
  for (const [id, whole] of Object.entries(specs)) {
    // What is drawn in a closed block or part has no width of its own.
    const width = document.getElementById(id).clientWidth || document.getElementById("main").clientWidth;
    const spec = fitted(whole, width);
    if ((phone || !document.getElementById(id).clientWidth) && spec.width === "container") spec.width = width;
    vegaEmbed(document.getElementById(id), spec, { actions: false, renderer: "svg", logLevel: 1 })
      .catch((error) => { document.getElementById(id).textContent = `This chart could not be drawn: ${error.message}`; });
  }

  // On a phone the parts below the head are closed at first, unless there is one alone. Links and printing open them.
  const parts = [...document.querySelectorAll("details.part")];
  const reveal = (hash) => {
    const part = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)))?.querySelector("details.part");
    if (part) part.open = true;
  };
  if (phone && parts.length > 1) for (const part of parts) part.open = false;
  reveal(location.hash);
  document.addEventListener("click", (event) => reveal(event.target.closest?.("main a[href^='#'], nav a[href^='#']")?.hash || ""));
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = parts.filter((part) => !part.open);
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });

  const packed = island("sample-data");
  if (!packed) return;

  const [PROBLEM, COLUMN, SAMPLES, TEXT, STATUS, COUNTED, PASSED, STAGE, MESSAGE, COSINE, FLAGS] = Array(11).keys();
  const { problems, columns, strings, entries } = packed;
  const text = (place) => place === null ? null : strings[place];
  const words = (value) => (value === null || value === undefined ? "none" : String(value).replaceAll("_", " "));
  const several = (name) => new Set(columns.map((column) => column[name])).size > 1;
  const columnName = (column) => [column.model]
    .concat(several("parameters") && column.parameters !== "none" ? [column.parameters.slice(0, 8)] : [])
    .concat(several("profile") ? [column.profile] : []).concat(several("policy") ? [column.policy] : []).join(" · ");

  const form = document.getElementById("filters");
  const list = document.getElementById("sample-list");
  const article = document.getElementById("sample");
  const count = document.getElementById("sample-count");
  const PAGE = 100;

  const fill = (name, values, label = words) => {
    const present = [...new Set(values)].filter((value) => value !== null && value !== undefined);
    form[name].append(make("option", { value: "", textContent: "all" }),
      ...present.map((value) => make("option", { value: String(value), textContent: label(value) })));
    form[name].closest("label").hidden = present.length === 0;
  };
  fill("column", columns.keys(), (place) => columnName(columns[place]));
  fill("language", problems.map((problem) => problem.language).sort());
  fill("category", problems.map((problem) => problem.category).sort());
  // Where nothing runs there is no status, but a verdict.
  const outcome = (entry) => {
    const passed = entry[PASSED];
    if (entry[STATUS] !== null || passed === null || passed === undefined) return words(text(entry[STATUS]));
    return problems[entry[PROBLEM]].instructed ? (passed ? "followed" : "not followed") : passed ? "right" : "wrong";
  };
  fill("status", entries.map(outcome).sort());
  fill("flag", entries.flatMap((entry) => entry[FLAGS].map(text)).sort());

  let matching = [];
  let shown = 0;
  const matches = (entry) => {
    const problem = problems[entry[PROBLEM]];
    return (!form.column.value || String(entry[COLUMN]) === form.column.value)
      && (!form.language.value || problem.language === form.language.value)
      && (!form.category.value || problem.category === form.category.value)
      && (!form.status.value || outcome(entry) === form.status.value)
      && (!form.flag.value || entry[FLAGS].map(text).includes(form.flag.value))
      && problem.id.toLowerCase().includes(form.text.value.trim().toLowerCase());
  };
  const tone = (entry) => entry[PASSED] === true ? "pass" : entry[PASSED] === false ? "fail" : "none";
  const times = (entry) => entry[SAMPLES].length > 1 ? ` ×${entry[SAMPLES].length}` : "";

  const showMore = () => {
    list.querySelector(".show-more")?.remove();
    const next = matching.slice(shown, shown + PAGE);
    list.append(...next.map((entry) => {
      const problem = problems[entry[PROBLEM]];
      return make("button", { type: "button", onclick: (event) => open(entry, event.currentTarget) },
        make("span", { className: "name", textContent: problem.id }),
        make("span", { className: "what" },
          make("span", { textContent: columnName(columns[entry[COLUMN]]) + times(entry) }),
          make("span", { className: tone(entry), textContent: outcome(entry) })));
    }));
    shown += next.length;
    if (shown < matching.length) {
      list.append(make("button", {
        type: "button", className: "show-more", textContent: `Show ${Math.min(PAGE, matching.length - shown)} more`,
        onclick: () => { const first = shown; showMore(); list.children[first]?.focus(); },
      }));
    }
  };
  const filter = () => {
    matching = entries.filter(matches);
    shown = 0;
    list.replaceChildren();
    showMore();
    const limit = entries.length < packed.total ? `; this page holds ${entries.length} of ${packed.total} (--samples holds more)` : "";
    count.textContent = `${matching.length} of ${entries.length} distinct completions${limit}. `
      + "Equal completions of one problem stand as one; the number after × counts them.";
    if (matching.length) open(matching[0], list.firstElementChild);
    else article.replaceChildren(make("p", { className: "caption", textContent: "Nothing matches these filters." }));
  };

  const { diff, visible } = globalThis.caretbenchDiff;
  const drawDiff = (before, after) => {
    const parts = diff(before, after);
    if (parts.every(([kind]) => kind === "same")) return make("pre", { className: "diff", textContent: after || "(empty)" });
    const nodes = parts.map(([kind, value]) => kind === "same"
      ? document.createTextNode(value)
      : make(kind, { textContent: /\S/.test(value) && !/^\s|\s$/.test(value) ? value : visible(value) }));
    return make("pre", { className: "diff" }, ...nodes);
  };

  // The answers of two models to one problem, side by side; a model comes before baselines, the reference last.
  const pairOf = (entry) => {
    const others = entries.filter((other) => other[PROBLEM] === entry[PROBLEM] && other[COLUMN] !== entry[COLUMN]);
    if (!others.length) return [];
    const shown = (other) => make("figure", {},
      make("figcaption", {}, columnName(columns[other[COLUMN]]) + times(other), ": ", make("span", { className: tone(other), textContent: outcome(other) })),
      make("pre", { tabIndex: 0, textContent: text(other[TEXT]) || "(empty)" }));
    const second = make("div", {}, shown(others[0]));
    const choice = make("select", { onchange: () => second.replaceChildren(shown(others[choice.value])) },
      ...others.map((other, place) => make("option", { value: String(place), textContent: columnName(columns[other[COLUMN]]) + times(other) })));
    return [make("h4", { textContent: "Next to another answer" }), make("label", {}, "Other answer ", choice),
      make("div", { className: "pair" }, shown(entry), second)];
  };

  const fact = (name, value, className = "") => value === null || value === undefined || value === ""
    ? null : make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value, className }));
  const open = (entry, button) => {
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    button?.setAttribute("aria-current", "true");
    const problem = problems[entry[PROBLEM]];
    const column = columns[entry[COLUMN]];
    const answer = text(entry[TEXT]);
    const message = text(entry[MESSAGE]);
    const note = answer === null ? "(the provider answered nothing)" : answer === "" ? "(empty)" : null;
    const same = answer !== null && answer === problem.reference;
    const close = !same && answer !== null && answer.trim() === problem.reference.trim();
    article.replaceChildren(
      make("h3", { textContent: problem.id }),
      make("dl", {},
        fact("Model", column.model), fact("Policy", column.policy), fact("Profile", column.profile),
        fact("Language", problem.language), fact("Category", problem.category && words(problem.category)),
        fact("Mode", problem.mode && words(problem.mode)),
        fact("Samples", entry[SAMPLES].map((sample) => sample + 1).join(", ")),
        fact("Status", outcome(entry) + (text(entry[STAGE]) ? ` (${text(entry[STAGE])})` : ""), tone(entry)),
        fact("Counted", entry[COUNTED] === false ? "no: this says nothing about the model" : null),
        fact("Flags", entry[FLAGS].map(text).join(", "), "fail"),
        fact("Cosine", entry[COSINE] === null ? null : entry[COSINE].toFixed(3))),
      make("h4", { textContent: "Completion in its place, as it came" }),
      make("div", { className: "program" },
        make("pre", { className: "quiet", tabIndex: 0, textContent: (problem.prefixCut ? "…\n" : "") + problem.prefix }),
        make("pre", { className: "answer", tabIndex: 0, textContent: note ?? answer }),
        make("pre", { className: "quiet", tabIndex: 0, textContent: problem.suffix + (problem.suffixCut ? "\n…" : "") || "(no suffix)" })),
      make("h4", { textContent: same ? "Equal to the reference" : "Reference and completion" },
        same ? null : make("span", { className: "legend" },
          make("del", { textContent: "only in the reference" }), " ", make("ins", { textContent: "only in the completion" }),
          close ? " They differ in blanks only." : "")),
      same ? "" : drawDiff(problem.reference, answer ?? ""),
      ...pairOf(entry),
      ...(message ? [make("h4", { textContent: "What the program said" }), make("pre", { className: "message", textContent: message })] : []));
  };

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = step && (step > 0 ? document.activeElement.nextElementSibling : document.activeElement.previousElementSibling);
    if (!next || !list.contains(document.activeElement)) return;
    event.preventDefault();
    next.focus();
    if (!next.classList.contains("show-more")) next.click();
  });
  // A discordant case opens in the browser.
  const known = new Set(problems.map((problem) => problem.id));
  for (const row of document.querySelectorAll("#discordant tbody tr")) {
    const cell = row.cells[0];
    if (!known.has(cell.textContent)) continue;
    cell.replaceChildren(make("a", { href: "#samples", textContent: cell.textContent, onclick: () => {
      const column = columns.findIndex((candidate) => candidate.model === row.cells[1].textContent);
      form.reset();
      form.text.value = cell.textContent;
      form.column.value = column < 0 ? "" : String(column);
      filter();
    } }));
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
