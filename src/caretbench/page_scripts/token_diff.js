"use strict";
// The difference of two texts by tokens, for the pages of reports and reviews: `caretbenchDiff.diff(before, after)` gives a
// list of ["same" | "del" | "ins", text].
globalThis.caretbenchDiff = (() => {
  // A token diff by the longest common subsequence: words, single marks, and each kind of blank are tokens.
  const tokens = (value) => value.match(/\r?\n|\t+| +|\w+|[^\w\s]|\s/g) || [];
  const LARGEST = 1500;
  const diff = (before, after) => {
    let a = tokens(before);
    let b = tokens(after);
    if (a.length > LARGEST || b.length > LARGEST) {
      a = before.split(/(?<=\n)/);
      b = after.split(/(?<=\n)/);
    }
    const width = b.length + 1;
    const common = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        common[i * width + j] = a[i] === b[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
      }
    }
    const parts = [];
    const push = (kind, token) => {
      const last = parts[parts.length - 1];
      if (last && last[0] === kind) last[1] += token;
      else parts.push([kind, token]);
    };
    let i = 0;
    let j = 0;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) { push("same", a[i]); i++; j++; }
      else if (i < a.length && (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) push("del", a[i++]);
      else push("ins", b[j++]);
    }
    return joined(parts);
  };
  // A blank or a lone mark between two changes is no common ground: what surrounds it reads better as one change.
  const joined = (parts) => {
    const result = [];
    let removed = "";
    let added = "";
    const flush = () => {
      if (removed) result.push(["del", removed]);
      if (added) result.push(["ins", added]);
      removed = "";
      added = "";
    };
    parts.forEach(([kind, value], place) => {
      const inside = removed && added && place < parts.length - 1 && value.trim().length < 2 && !value.includes("\n");
      if (kind === "del") removed += value;
      else if (kind === "ins") added += value;
      else if (inside) { removed += value; added += value; }
      else { flush(); result.push([kind, value]); }
    });
    flush();
    return result;
  };
  const visible = (value) => value.replace(/ /g, "·").replace(/\t/g, "→\t").replace(/\r/g, "␍").replace(/\n/g, "↵\n");
  return { diff, visible };
})();
