// Sends waiting events to the server until it has them all, and asks for the next entries.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15000;

const request = async (address, options = {}) => {
  const response = await fetch(address, { ...options, signal: AbortSignal.timeout(20000) });
  const value = await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(value.error || `status ${response.status}`), { status: response.status });
  return value;
};

export const makeSync = (store, { onState, onAnswer, onRefused }) => {
  let pause = FIRST_PAUSE;
  let timer = null;
  let running = null;

  const tell = async (error) => onState((await store.waiting()).length, error);

  const sendOnce = async () => {
    const waiting = await store.waiting();
    if (!waiting.length) return null;
    const batch = waiting.slice(0, 200);
    const answer = await request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(batch.map(({ place, ...event }) => event)),
    });
    const verdicts = new Map(answer.results.map((result) => [result.id, result]));
    const refused = batch.filter((event) => verdicts.get(event.id)?.status === "refused");
    await store.confirm(batch.filter((event) => ["stored", "known"].includes(verdicts.get(event.id)?.status)));
    await store.refuse(refused);
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

  // An older copy of the database may have been put back: the server then knows fewer events than it confirmed.
  const compare = async (stored) => {
    const confirmed = await store.confirmed();
    if (stored >= confirmed.length) return;
    const known = new Set(await request("/api/mine"));
    await store.sendAgain(confirmed.filter((event) => !known.has(event.id)));
    await send();
  };

  return {
    send,
    queue: async (held) => {
      const answer = await request(`/api/queue?held=${held.join(",")}`);
      if (!(await store.waiting()).length) await compare(answer.stored);
      return answer;
    },
    entry: (item, repeat) => request(`/api/entry/${item}?repeat=${repeat}`),
  };
};
