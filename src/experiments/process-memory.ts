/**
 * What predictions of the resident memory of a cell's process have in common: the runtime with its backend, and what the garbage
 * collector has not come to yet. `bench/predictions.ts` holds predictions against measured peaks.
 */
import type {CallShape} from '../attention/index.js'
import type {MeteredBackend} from '../attention/internal.js'
import type {ForwardShape, ResolvedMethod} from './method.js'

/** Bytes of a process that has loaded its backend and run a tiny cell. */
const RUNTIME: Record<MeteredBackend, number> = {
  native: 115e6,
  tensorflow: 338e6,
  wasm: 130e6,
  cpu: 122e6,
}

/** Memory of a process before it computes anything of size. */
export function runtimeBytes(backend: MeteredBackend): number {
  return RUNTIME[backend]
}

/** Host arrays that a process lets go of are collected when about so many bytes of them have come together. */
export const UNCOLLECTED = 64e6

/** The calls of a cell. */
export interface ProcessOfCell {
  backend: MeteredBackend
  method: ResolvedMethod
  shape: CallShape
}

/** Numbers of rows and pairs over all heads. */
export function counts({batch, heads, queryLen, keyLen, headDim, valueDim}: ForwardShape) {
  const count = batch * heads
  return {
    queries: count * queryLen * headDim,
    keys: count * keyLen * headDim,
    values: count * keyLen * valueDim,
    outputs: count * queryLen * valueDim,
  }
}

/** What earlier repetitions have left, where the collector has not come to it. */
export function uncollected(
  backend: MeteredBackend,
  {made, read}: {made: number; read: number},
  repetitions: number,
): number {
  const each = backend === 'wasm' ? read : made
  return Math.min((repetitions - 1) * each, UNCOLLECTED)
}

/** Most calls that are counted for one plan; each takes a good part of a millisecond. */
const MOST_COUNTED = 4000

/**
 * Memory, or another count, of the cells of one method and length by their numbers of features. Of a plan with very
 * many, some are counted, from the least to the most; one in between takes what the larger of its neighbours takes.
 *
 * @param share - calls of the plan: this one's part of {@link MOST_COUNTED} is one of so many
 * @param countOf - of a cell with so many features, such as the peak of its process
 */
export function byCount(
  counts: readonly (number | null)[],
  share: number,
  countOf: (count: number | null) => number,
): number[] {
  const most = Math.max(2, Math.floor(MOST_COUNTED / share))
  if (counts.length <= most) return counts.map(countOf)
  const places = counts.map((_, place) => place).sort((a, b) => (counts[a] ?? 0) - (counts[b] ?? 0))
  const all = new Array<number>(counts.length)
  let low = 0
  all[places[0]!] = countOf(counts[places[0]!]!)
  for (let sample = 1; sample < most; sample++) {
    const high = Math.round((sample * (counts.length - 1)) / (most - 1))
    const ends = [all[places[low]!]!, countOf(counts[places[high]!]!)] as const
    for (let rank = low + 1; rank < high; rank++) all[places[rank]!] = Math.max(...ends)
    all[places[high]!] = ends[1]
    low = high
  }
  return all
}
