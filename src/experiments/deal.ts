/** Deals the cells of a plan to shards, the same way on every machine. */

/** A cell as far as dealing goes. */
export interface DealtCell {
  /** Its own cost; one that is not finite counts as 0. */
  cost: number
  /** What it shares with other cells: a shard that has any of them pays it once. Default: nothing. */
  family?: {id: string; cost: number} | undefined
}

/** Cells that go to one shard together. */
interface Piece {
  cost: number
  cells: readonly number[]
  family?: Family
}

interface Family {
  /** Number of the family. */
  at: number
  cost: number
  cells: number[]
}

/**
 * How many times as many pieces as shards families are cut into: few share more, many fill shards more evenly, and which
 * wins depends on how dear what is shared is. Infinitely many: each cell is a piece.
 */
const CUTS = [0.5, 0.75, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 3, 4, 8, Number.POSITIVE_INFINITY]

/**
 * The dearest first, each to the shard with the least so far (Graham 1969, "Bounds on multiprocessing timing anomalies":
 * at most 4/3 - 1/(3 n) of the best). Cells that share something are dealt in pieces, so that few shards pay for it; of
 * several sizes of the pieces the one is taken with which the last shard ends first. Ties go to the earlier cell and to
 * the shard with fewer cells, then to the lower one, so that nothing but the costs decides.
 *
 * @param cells - in the order of the plan
 * @param count - of shards, 1 or more
 * @returns the shard of each cell, from 0
 */
export function deal(cells: readonly DealtCell[], count: number): number[] {
  const known = cells.map(cell => ({...cell, cost: nonNegative(cell.cost)}))
  const families = familiesOf(known)
  const cuts = families.length === 0 ? [Number.POSITIVE_INFINITY] : CUTS
  const dealings = cuts.map(cut => dealPieces(piecesOf(known, families, cut * count), count))
  const best = dealings.reduce((least, other) => (other.last < least.last ? other : least))
  const shards = new Array<number>(cells.length).fill(0)
  for (const [piece, shard] of best.placed) for (const cell of piece.cells) shards[cell] = shard
  return shards
}

/** Cost of each shard of a dealing, what cells share counted once in each. */
export function dealtCosts(
  cells: readonly DealtCell[],
  shards: readonly number[],
  count: number,
): number[] {
  const costs = new Array<number>(count).fill(0)
  const paid = new Set<string>()
  for (const [at, {cost, family}] of cells.entries()) {
    const shard = shards[at]!
    costs[shard]! += nonNegative(cost)
    const bill = family && `${shard} ${family.id}`
    if (bill === undefined || paid.has(bill)) continue
    paid.add(bill)
    costs[shard]! += nonNegative(family!.cost)
  }
  return costs
}

function nonNegative(cost: number): number {
  return Number.isFinite(cost) ? Math.max(0, cost) : 0
}

function familiesOf(cells: readonly DealtCell[]): Family[] {
  const families = new Map<string, Family>()
  for (const [at, {family}] of cells.entries()) {
    if (!family || nonNegative(family.cost) === 0) continue
    const known = families.get(family.id)
    if (known) known.cells.push(at)
    else families.set(family.id, {at: families.size, cost: nonNegative(family.cost), cells: [at]})
  }
  return [...families.values()]
}

/** @param wanted - pieces of all families together, about; each has one at least */
function piecesOf(
  cells: readonly DealtCell[],
  families: readonly Family[],
  wanted: number,
): Piece[] {
  const costOf = (members: readonly number[]) =>
    members.reduce((sum, at) => sum + cells[at]!.cost, 0)
  const costs = families.map(({cost, cells: members}) => cost + costOf(members))
  const whole = costs.reduce((sum, cost) => sum + cost, 0)
  const inFamily = new Set(families.flatMap(({cells: members}) => members))
  const single = cells.flatMap(({cost}, at): Piece[] =>
    inFamily.has(at) ? [] : [{cost, cells: [at]}],
  )
  const shared = families.flatMap((family, at) => {
    const members = family.cells
    const pieces = Math.min(members.length, Math.max(1, Math.ceil((wanted * costs[at]!) / whole)))
    const own = members.map(cell => ({cost: cells[cell]!.cost, cells: [cell]}))
    const groups = Array.from({length: pieces}, (): number[] => [])
    for (const [piece, group] of dealPieces(own, pieces).placed) groups[group]!.push(...piece.cells)
    return groups
      .filter(group => group.length > 0)
      .map((group): Piece => ({cost: costOf(group), cells: group, family}))
  })
  return [...single, ...shared]
}

/** Pieces with their shards, and the cost of the dearest shard. */
function dealPieces(pieces: readonly Piece[], count: number) {
  const loads = new Loads(count)
  const paid = new Set<number>()
  const order = [...pieces].sort((a, b) => totalOf(b) - totalOf(a) || a.cells[0]! - b.cells[0]!)
  const placed = order.map((piece): [Piece, number] => {
    const {shard} = loads.least
    const bill = piece.family && piece.family.at * count + shard
    const isPaid = bill === undefined || paid.has(bill)
    if (!isPaid) paid.add(bill)
    loads.addToLeast(isPaid ? piece.cost : totalOf(piece), piece.cells.length)
    return [piece, shard]
  })
  return {placed, last: loads.most}
}

function totalOf({cost, family}: Piece): number {
  return cost + (family?.cost ?? 0)
}

/** What shards have so far, the one with the least at hand: a heap whose least item alone grows. */
class Loads {
  private readonly heap: Load[]
  most = 0

  constructor(count: number) {
    this.heap = Array.from({length: count}, (_, shard) => ({shard, cost: 0, cells: 0}))
  }

  get least() {
    return this.heap[0]!
  }

  addToLeast(cost: number, cells: number): void {
    const {heap, least: grown} = this
    grown.cost += cost
    grown.cells += cells
    this.most = Math.max(this.most, grown.cost)
    let at = 0
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      if (left >= heap.length) break
      const lower = right < heap.length && before(heap[right]!, heap[left]!) ? right : left
      if (!before(heap[lower]!, grown)) break
      heap[at] = heap[lower]!
      at = lower
    }
    heap[at] = grown
  }
}

interface Load {
  shard: number
  cost: number
  cells: number
}

function before(a: Load, b: Load): boolean {
  return (a.cost - b.cost || a.cells - b.cells || a.shard - b.shard) < 0
}
