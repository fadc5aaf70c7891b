/**
 * What predictions of the resident memory of a cell's process have in common: the runtime with its backend, and what the garbage
 * collector has not come to yet. `bench/calibrate/predictions.ts` holds predictions against measured peaks.
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
