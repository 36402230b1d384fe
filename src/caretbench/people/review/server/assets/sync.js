// Sends waiting events to the server until it has them all, and asks for the next entries.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15000;

const request = async (address, options = {}) => {
  const response = await fetch(address, { ...options, signal: AbortSignal.timeout(20000) });
  const text = await response.text();
  let value;
  // A proxy's refusal is a page.
  try { value = JSON.parse(text); } catch { value = response.headers.get("content-type")?.startsWith("text/plain") ? { error: text } : {}; }
  if (!response.ok) throw Object.assign(new Error(value.error || `status ${response.status}`), { status: response.status });
  return value;
};

// Every request names the person of this page: the browser may have become another person's since.
export const makeSync = (store, { root, person: name }, { onState, onAnswer, onRefused, onForeign }) => {
  const person = `person=${encodeURIComponent(name)}`;
  let pause = FIRST_PAUSE;
  let timer = null;
  let running = null;

  const ask = async (address, options) => {
    try {
      const value = await request(address, options);
      onForeign(null);
      return value;
    } catch (error) {
      if (error.status === 409) onForeign(error.message);
      throw error;
    }
  };
  const tell = async (error) => onState((await store.waiting()).length, error);

  const sendOnce = async () => {
    const waiting = await store.waiting();
    if (!waiting.length) return null;
    const batch = waiting.slice(0, 200);
    const answer = await ask(`${root}/api/events?${person}&sent_at=${new Date().toISOString()}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(batch.map(({ place, ...event }) => event)),
    });
    const verdicts = new Map(answer.results.map((result) => [result.id, result]));
    const refused = batch.filter((event) => verdicts.get(event.id)?.status === "refused");
    await store.remove(batch.filter((event) => verdicts.has(event.id)));
    for (const event of refused) onRefused(event, verdicts.get(event.id).reason);
    onAnswer(answer);
    return batch.length < waiting.length || answer;
  };

  const run = async () => {
    clearTimeout(timer);
    try {
      while (await sendOnce() === true);
      pause = FIRST_PAUSE;
      await tell(null);
    } catch (error) {
      await tell(error);
      timer = setTimeout(send, pause);
      pause = Math.min(LONGEST_PAUSE, pause * 2);
    }
  };
  const send = () => {
    running = (running || Promise.resolve()).then(run);
    return running;
  };

  return {
    send,
    queue: (held) => ask(`${root}/api/queue?${person}&held=${held.join(",")}`),
    entry: (item, repeat) => ask(`${root}/api/entry/${item}?${person}&repeat=${repeat}`),
    last: () => ask(`${root}/api/last?${person}`),
  };
};
