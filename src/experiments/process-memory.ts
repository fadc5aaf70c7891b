/**
 * Common parts of predicted resident memory of a cell's process: the runtime with its backend, and memory that is
 * not collected yet. `bench/calibrate/predictions.ts` compares predictions with measured peaks.
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

/** Unused host arrays are collected when about this many bytes have accumulated. */
export const UNCOLLECTED = 64e6

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

/** What earlier repetitions have left uncollected. */
export function uncollected(
  backend: MeteredBackend,
  {made, read}: {made: number; read: number},
  repetitions: number,
): number {
  const each = backend === 'wasm' ? read : made
  return Math.min((repetitions - 1) * each, UNCOLLECTED)
}
