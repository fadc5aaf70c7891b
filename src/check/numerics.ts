/** Outputs stay finite, whatever the norms. */
import {type Sizes, SMALL} from './arrays.js'
import {type Call, hostCall, runCall} from './call.js'
import {callOf, formsOf, placeOf} from './forms.js'
import {mapInputs} from './parts.js'
import {Tally} from './tally.js'
import type {Check, Finding, Subject} from './types.js'

/** Standard deviations of queries and keys: logits of the last are in the ten thousands. */
const SCALES = [2, 5, 20, 100] as const

/** No NaN and no infinity, from zeros to logits in the ten thousands. */
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
  return tally.finding()
}

/** No NaN where queries, keys or both are zero. */
function zeros(subject: Subject): Finding {
  const tally = new Tally(
    'divisions: a vector of length zero, or a row whose weights are all zero, must not give 0 / 0',
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

export const NUMERICS: readonly Check[] = [
  {name: 'large norms', group: 'numerics', run: largeNorms},
  {name: 'zeros', group: 'numerics', run: zeros},
]
