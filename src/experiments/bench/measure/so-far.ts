/** What progress says while a run goes on. */
import {significant} from '../../../report/numbers.js'
import type {TimedSoFar} from '../../experiment.js'
import {BASELINES} from '../fields/baselines.js'
import type {BenchCell} from '../schema.js'

type Timed = TimedSoFar<BenchCell>

/** `8.6x so far`: the time of the faster exact form over that of a method; `undefined` of exact forms, and before those are timed. */
export function soFarText({cell, ns}: Timed, all: readonly Timed[]): string | undefined {
  if (BASELINES.includes(cell.method)) return undefined
  const exact = all.filter(
    other => BASELINES.includes(other.cell.method) && placeOf(other.cell) === placeOf(cell),
  )
  if (exact.length === 0) return undefined
  return `${significant(Math.min(...exact.map(other => other.ns)) / ns, 2)}x so far`
}

function placeOf({batch, seq_len, backend, peer}: BenchCell): string {
  return JSON.stringify([batch, seq_len, peer ?? backend])
}
