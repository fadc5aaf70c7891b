/**
 * How much the suites do. By default every method, backend, law and stored case at least once; with RFA_FULL all
 * pairs of shapes, forms and backends; with RFA_SLOW more draws, shapes and values on top.
 */
import {isOn} from '../../src/backends/native/loader.js'

export const SLOW = isOn(process.env.RFA_SLOW)
export const FULL = SLOW || isOn(process.env.RFA_FULL)

/** What a quick run takes of a list: every `step`-th, from `offset` on. A full run takes all. */
export function sample<T>(all: readonly T[], step: number, offset: number): readonly T[] {
  return FULL ? all : all.filter((_, index) => index % step === offset % step)
}
