import assert from 'assert';

/** Commands that change a task board. Each has a shape of its own and one handler; each can be undone. */
interface Card {
  id: string;
  title: string;
  column: string;
  labels: string[];
}

type Board = Readonly<Record<string, Card>>;

interface AddCard {
  kind: 'add-card';
  id: string;
  title: string;
}

interface MoveCard {
  kind: 'move-card';
  id: string;
  column: string;
}

interface RemoveCard {
  kind: 'remove-card';
  id: string;
}

interface RenameCard {
  kind: 'rename-card';
  id: string;
  title: string;
}

interface RestoreCard {
  kind: 'restore-card';
  card: Card;
}

type Command = AddCard | MoveCard | RemoveCard | RenameCard | RestoreCard;
type Outcome = { board: Board; undo: Command } | { board: Board; refused: string };
type Handlers = { [Kind in Command['kind']]: (board: Board, command: Extract<Command, { kind: Kind }>) => Outcome };

function without(board: Board, id: string): Board {
  const { [id]: _, ...rest } = board;
  return rest;
}

const handlers: Handlers = {
  'add-card': (board, { id, title }) => {
    if (id in board) return { board, refused: `card ${id} exists already` };
    const card: Card = { id, title, column: 'inbox', labels: [] };
    return { board: { ...board, [id]: card }, undo: { kind: 'remove-card', id } };
  },
  'move-card': (board, { id, column }) => {
    if (!(id in board)) return { board, refused: `no card ${id}` };
    const before = board[id];
    return { board: { ...board, [id]: { ...before, column } }, undo: { kind: 'move-card', id, column: before.column } };
  },
  'remove-card': (board, { id }) => {
    if (!(id in board)) return { board, refused: `no card ${id}` };
    return { board: without(board, id), undo: { kind: 'restore-card', card: board[id] } };
  },
⟦  'rename-card': (board, { id, title }) => {
    if (!(id in board)) return { board, refused: `no card ${id}` };
    const before = board[id];
    return { board: { ...board, [id]: { ...before, title } }, undo: { kind: 'rename-card', id, title: before.title } };
  },
  'restore-card': (board, { card }) => {
    if (card.id in board) return { board, refused: `card ${card.id} exists already` };
    return { board: { ...board, [card.id]: card }, undo: { kind: 'remove-card', id: card.id } };
  },
⟧};

function run<C extends Command>(board: Board, command: C): Outcome {
  const handler = handlers[command.kind] as (board: Board, command: C) => Outcome;
  return handler(board, command);
}
⟦tests⟧
function must(board: Board, command: Command): { board: Board; undo: Command } {
  const outcome = run(board, command);
  if ('refused' in outcome) throw new assert.AssertionError({ message: outcome.refused });
  return outcome;
}

const empty: Board = {};
const added = must(empty, { kind: 'add-card', id: 'c1', title: 'Fix login' });
const moved = must(added.board, { kind: 'move-card', id: 'c1', column: 'doing' });

const renamed = must(moved.board, { kind: 'rename-card', id: 'c1', title: 'Fix sign-in' });
assert.deepStrictEqual(renamed.board, { c1: { id: 'c1', title: 'Fix sign-in', column: 'doing', labels: [] } });
assert.strictEqual(moved.board.c1.title, 'Fix login');
assert.deepStrictEqual(renamed.undo, { kind: 'rename-card', id: 'c1', title: 'Fix login' });
assert.deepStrictEqual(must(renamed.board, renamed.undo).board, moved.board);
assert.deepStrictEqual(run(renamed.board, { kind: 'rename-card', id: 'c9', title: 'x' }), {
  board: renamed.board,
  refused: 'no card c9',
});

const removed = must(renamed.board, { kind: 'remove-card', id: 'c1' });
assert.deepStrictEqual(removed.board, {});
const restored = must(removed.board, removed.undo);
assert.deepStrictEqual(restored.board, renamed.board);
assert.deepStrictEqual(removed.board, {});
assert.deepStrictEqual(restored.undo, { kind: 'remove-card', id: 'c1' });
assert.deepStrictEqual(must(restored.board, restored.undo).board, {});
const refused = run(restored.board, removed.undo);
assert.ok('refused' in refused && refused.refused === 'card c1 exists already');
assert.strictEqual(refused.board, restored.board);
