// What this browser keeps of one person's review, in IndexedDB: events that wait for the server, events that it
// confirmed, and drafts. A write is on disk when its promise is done.

const STORES = { waiting: "id", confirmed: "id", drafts: "key" };

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

export const openStore = async (name) => {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => {
    for (const [store, keyPath] of Object.entries(STORES)) opening.result.createObjectStore(store, { keyPath });
  };
  const database = await done(opening);

  const write = (stores, change) => new Promise((resolve, reject) => {
    const transaction = database.transaction(stores, "readwrite", { durability: "strict" });
    transaction.oncomplete = () => resolve();
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
    change(...stores.map((store) => transaction.objectStore(store)));
  });
  const read = (store) => done(database.transaction(store).objectStore(store).getAll());

  return {
    waiting: async () => (await read("waiting")).sort((a, b) => a.place - b.place),
    confirmed: () => read("confirmed"),
    drafts: async () => new Map((await read("drafts")).map((draft) => [draft.key, draft])),
    // An event and the end of its draft are one write: neither is there without the other.
    add: (event, draftKey) => write(["waiting", "drafts"], (waiting, drafts) => {
      waiting.put({ ...event, place: Date.now() + performance.now() / 1e6 });
      drafts.delete(draftKey);
    }),
    confirm: (events) => write(["waiting", "confirmed"], (waiting, confirmed) => {
      for (const event of events) {
        waiting.delete(event.id);
        confirmed.put(event);
      }
    }),
    refuse: (events) => write(["waiting"], (waiting) => { for (const event of events) waiting.delete(event.id); }),
    sendAgain: (events) => write(["waiting", "confirmed"], (waiting, confirmed) => {
      for (const event of events) {
        confirmed.delete(event.id);
        waiting.put(event);
      }
    }),
    saveDraft: (draft) => write(["drafts"], (drafts) => drafts.put(draft)),
  };
};
