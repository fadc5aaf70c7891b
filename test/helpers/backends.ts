/** Backends that run here. */
import {expect} from 'vitest'
import {type BackendName, hasSameBits, probeBackends} from '../../src/backends/index.js'
import {FULL, sample} from './effort.js'
import {addBounds, assertWithin} from './rounding.js'

const reports = await probeBackends()
const runnable = reports
  .filter(({name, available, reason, remedy}) => {
    const asked = process.env.RFA_TEST_BACKENDS?.split(',')
    if (!available && asked?.includes(name)) throw new Error(`${name}: ${reason}; ${remedy}`)
    return available && (asked?.includes(name) ?? true)
  })
  .map(({name}) => name as BackendName)

/**
 * Names of the backends that can be tested on this machine; the others are told by `rfa doctor`. RFA_TEST_BACKENDS names
 * some of them, which then must be there.
 */
export async function everyBackend(): Promise<BackendName[]> {
  return runnable
}

const usual =
  FULL || process.env.RFA_TEST_BACKENDS ? runnable : runnable.filter(name => name !== 'tensorflow')

/**
 * The same without `tensorflow` in a quick run: there it meets stored cases and every method, no more. None of its
 * kernels are ours, and its calls are the slowest.
 */
export async function runnableBackends(): Promise<BackendName[]> {
  return usual
}

/** Those of them that give an entry the same bits wherever it stands, beside whatever others. */
export async function exactBackends(): Promise<BackendName[]> {
  const exact = await Promise.all(usual.map(hasSameBits))
  return usual.filter((_, index) => exact[index])
}

/** Which one a quick run tries most on. */
export const THOROUGH =
  (['native', 'wasm'] as const).find(name => runnable.includes(name)) ?? runnable[0]

/** Cases of a long matrix: a quick run takes every `step`-th of them on one backend, every eighth on each of the others. */
export function casesOn<T>(backend: BackendName, all: readonly T[], step = 1): readonly T[] {
  return sample(all, backend === THOROUGH ? step : 8, runnable.indexOf(backend))
}

/** Tokens of a long sequence: half as many in plain JavaScript, unless the run is a full one. */
export function tokensOn(backend: BackendName, long: number, short: number): number {
  return backend === 'cpu' && !FULL ? short : long
}

/** Compares two results of a backend for the same rows, of which twins know how far rounding takes each. */
export type Alike = (
  label: string,
  actual: Float32Array,
  expected: Float32Array,
  bound: () => Float64Array,
) => void

/** To the bit where the backend gives an entry the same bits anywhere; elsewhere both within their bounds. */
export async function alikeOn(backend: BackendName): Promise<Alike> {
  if (await hasSameBits(backend)) return (_, actual, expected) => expect(actual).toEqual(expected)
  return (label, actual, expected, bound) =>
    void assertWithin(label, actual, expected, addBounds(bound(), bound()))
}
