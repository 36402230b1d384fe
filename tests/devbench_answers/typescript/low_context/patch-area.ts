import assert from 'assert';

type Patch =
  | { readonly shape: 'square'; readonly side: number }
  | { readonly shape: 'strip'; readonly length: number; readonly width: number }
  | { readonly shape: 'triangle'; readonly base: number; readonly height: number };

function cloth(patch: Patch, seam: number): number {
  switch (patch.shape) {
    case 'square':
      return (patch.side + 2 * seam) ** 2;
    case ⟦'strip':
      return (patch.length + 2 * seam) * (patch.width + 2 * seam);
    case 'triangle':
      return ((patch.base + 2 * seam) * (patch.height + 2 * seam)) / 2;
  }
}⟧
⟦tests⟧
assert.strictEqual(cloth({ shape: 'square', side: 10 }, 1), 144);
assert.strictEqual(cloth({ shape: 'strip', length: 30, width: 4 }, 0.5), 155);
assert.strictEqual(cloth({ shape: 'strip', length: 4, width: 30 }, 0), 120);
assert.strictEqual(cloth({ shape: 'triangle', base: 10, height: 6 }, 1), 48);
const quilt: Patch[] = [{ shape: 'triangle', base: 2, height: 9 }, { shape: 'square', side: 0 }];
assert.deepStrictEqual(quilt.map((patch) => cloth(patch, 0)), [9, 0]);
