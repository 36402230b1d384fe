// Single keys: one table of all of them, shown by `?`, changeable, without two actions on one key.

const NAMES = {
  undo: "Undo the last decision", later: "Decide this item later", note: "Write a note", guidelines: "Guidelines",
  blanks: "Show blanks", difference: "Difference from the reference", tests: "Hidden tests", unfold: "Unfold all lines",
  back: "Ask both people again",
};
const FIXED = new Set(["?", "x", ..."0123456789"]);

export const makeKeys = (defaults, storageKey) => {
  let changed = {};
  try { changed = JSON.parse(localStorage.getItem(storageKey)) || {}; } catch { changed = {}; }
  const save = () => { try { localStorage.setItem(storageKey, JSON.stringify(changed)); } catch { /* kept for this page alone */ } };
  const options = new Map();

  const table = () => {
    const found = new Map(Object.entries(defaults).map(([action, key]) => [action, { name: NAMES[action] || action, key }]));
    for (const [action, option] of options) found.set(action, option);
    for (const [action, key] of Object.entries(changed)) if (found.has(action)) found.set(action, { ...found.get(action), key });
    return found;
  };
  const keyOf = (action) => table().get(action)?.key;

  const show = (root) => {
    for (const place of root.querySelectorAll("kbd[data-key-of]")) place.textContent = keyOf(place.dataset.keyOf) || "";
  };

  return {
    table, keyOf, show,
    // The letters of the questions' options are a part of the table.
    learn: (form) => {
      for (const input of form.querySelectorAll("input[data-key]")) {
        const shown = input.parentElement.querySelector("kbd[data-key-of]");
        if (shown) options.set(shown.dataset.keyOf, { name: input.parentElement.textContent.trim().replace(/^\S+\s+/, ""), key: input.dataset.key });
      }
    },
    action: (key) => [...table()].find(([, entry]) => entry.key === key)?.[0],
    // Returns why a key cannot be taken, or null.
    change: (action, key) => {
      if (!/^[a-z]$/.test(key) || FIXED.has(key)) return `“${key}” cannot be chosen: take a letter other than x.`;
      const other = [...table()].find(([name, entry]) => entry.key === key && name !== action);
      if (other) return `“${key}” is taken: ${other[1].name}.`;
      changed[action] = key;
      save();
      return null;
    },
    reset: () => { changed = {}; save(); },
  };
};

export const keyDialog = (keys, dialog, onChange) => {
  const body = dialog.querySelector("tbody");
  const error = dialog.querySelector(".error");
  let open = null;
  const draw = () => {
    body.replaceChildren(...[...keys.table()].map(([action, entry]) => {
      const row = document.createElement("tr");
      const [name, key] = [document.createElement("td"), document.createElement("td")];
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: entry.key });
      button.setAttribute("aria-label", `Key of: ${entry.name}; now ${entry.key}`);
      button.addEventListener("click", () => { open = action; button.textContent = "press a key"; error.textContent = ""; });
      name.textContent = entry.name;
      key.append(button);
      row.append(name, key);
      return row;
    }));
  };
  dialog.addEventListener("keydown", (event) => {
    if (open === null || ["Escape", "Tab", "Enter", " "].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    error.textContent = keys.change(open, event.key) || "";
    open = null;
    draw();
    onChange();
  });
  dialog.querySelector("[data-reset]").addEventListener("click", () => { keys.reset(); draw(); onChange(); });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  return () => { draw(); dialog.showModal(); };
};
