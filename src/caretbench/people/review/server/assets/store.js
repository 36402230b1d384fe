// What this browser keeps of one person's review, in IndexedDB: events that wait for the server, and drafts. A write is on
// disk when its promise is done.

const STORES = { waiting: "id", drafts: "key" };

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
  // A clock that is set back must not put an undo before its decision.
  let last = Math.max(0, ...(await read("waiting")).map((event) => event.place));

  return {
    waiting: async () => (await read("waiting")).sort((a, b) => a.place - b.place),
    drafts: async () => new Map((await read("drafts")).map((draft) => [draft.key, draft])),
    // An event and the end of its draft are one write: neither is there without the other.
    add: (event, draftKey) => {
      last = Math.max(last + 1, Date.now());
      return write(["waiting", "drafts"], (waiting, drafts) => {
        waiting.put({ ...event, place: last });
        drafts.delete(draftKey);
      });
    },
    remove: (events) => write(["waiting"], (waiting) => { for (const event of events) waiting.delete(event.id); }),
    saveDraft: (draft) => write(["drafts"], (drafts) => drafts.put(draft)),
  };
};
