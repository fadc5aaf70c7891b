/** Outputs stay finite, whatever the norms, and move with their inputs as finely as float32 does. */

import {randomStream} from '../../random/index.js'
import {type Sizes, SMALL} from '../calls/arrays.js'
import {type Call, hostCall, runCall} from '../calls/call.js'
import {callOf, formsOf, placeOf} from '../calls/forms.js'
import {mapInputs} from '../calls/parts.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'

/** Standard deviations of queries and keys: logits of the last are in the ten thousands. */
const SCALES = [2, 5, 20, 100] as const

/**
 * No NaN and no infinity, up to logits in the ten thousands. A correct formula that overflows there gets a warning:
 * other shapes have ordinary norms.
 */
function largeNorms(subject: Subject): Finding {
  const tally = new Tally(
    'exponentials: form them relative to a maximum, or by logarithms (a log-* recipe, {logarithms}, {scaled} maps)',
  )
  for (const inputScale of SCALES) {
    for (const {causal, name} of formsOf(subject)) {
      expectFinite(
        tally,
        `${name}, norms x ${inputScale}`,
        callOf(subject, SMALL, {causal, inputScale}),
      )
    }
  }
  const found = tally.finding()
  return found.status === 'failed' ? {...found, status: 'warning'} : found
}

/** No NaN where queries, keys or both are zero. */
function zeros(subject: Subject): Finding {
  const tally = new Tally(
    'divisions: a vector of length zero, or a row with only zero weights, must not give 0 / 0',
  )
  for (const {causal, name} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal})
    for (const zero of [['query'], ['key'], ['query', 'key']]) {
      const inputs = mapInputs(hostCall(given).inputs, (array, side) =>
        zero.includes(side) ? {...array, data: array.data.map(() => 0)} : array,
      )
      expectFinite(tally, `${name}, ${zero.join(' and ')} zero`, {...given, inputs})
    }
  }
  return tally.finding()
}

function expectFinite(tally: Tally, label: string, given: Call): void {
  const {out} = runCall(given)
  const at = out.findIndex(x => !Number.isFinite(x))
  tally.expect(label, at < 0, () => `${placeOf(at, given.sizes as Sizes)} is ${out[at]}`)
}

/** Relative move of each number: 2^8 roundings of float32, and smaller than any coarser step. */
const MOVE = 2 ** -16
/** Part of the rows that may stay as they are: some see one key only, or keys of no weight. */
const STILL = 0.5

/** Moving every number of queries, or of keys, by some roundings moves outputs: they are not made of rounded features. */
function fineSteps(subject: Subject): Finding {
  const {stepwise, ignores = {}} = subject.estimator
  if (stepwise !== undefined) return notApplicable(movesInSteps(stepwise))
  const tally = new Tally(
    'phi: rounding, integers and comparisons leave outputs as they are between steps (stepwise says so, where it is meant)',
  )
  for (const {causal, name} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal})
    const {out} = runCall(given)
    for (const side of ['query', 'key'] as const) {
      if (side in ignores) continue
      const stream = randomStream(subject.seed, `moves.${side}`)
      const inputs = mapInputs(hostCall(given).inputs, (array, own) => {
        if (own !== side) return array
        const factor = () => 1 + (stream.uint32() & 1 ? MOVE : -MOVE)
        return {...array, data: Float64Array.from(array.data, x => x * factor())}
      })
      const still = rowsStill(out, runCall({...given, inputs}).out, given.sizes.valueDim)
      const rows = out.length / given.sizes.valueDim
      tally.expect(
        `${name}, other ${side}`,
        still <= STILL * rows,
        () =>
          `${still} of ${rows} rows keep every bit when each number of the ${side} moves by 2^-16 of its size`,
      )
    }
  }
  return tally.finding()
}

/** Rows without a different bit. */
function rowsStill(before: Float32Array, after: Float32Array, width: number): number {
  let still = 0
  for (let at = 0; at < before.length; at += width) {
    if (before.subarray(at, at + width).every((x, d) => x === after[at + d])) still++
  }
  return still
}

/** Why what takes outputs for smooth does not apply. */
export function movesInSteps(reason: string): string {
  return `declares that outputs move in steps (stepwise: ${reason})`
}

export const NUMERICS: readonly Check[] = [
  {name: 'large norms', group: 'numerics', run: largeNorms},
  {name: 'zeros', group: 'numerics', run: zeros},
  {name: 'fine steps', group: 'numerics', run: fineSteps},
]
