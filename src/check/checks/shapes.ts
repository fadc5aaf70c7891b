/** Outputs have the right shape and finite numbers, for sizes that no axis can be taken for another in. */
import {messageOf} from '../../errors.js'
import {type Sizes, SMALL} from '../calls/arrays.js'
import {type Call, runCall} from '../calls/call.js'
import {callName, callOf, formsOf, maskedForms} from '../calls/forms.js'
import {boundedOutput} from '../calls/output-bound.js'
import {partOfBatch, partOfHead} from '../calls/parts.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {changeOf} from './laws.js'

/** One shape: B, H, L, S, D, Dv, M. */
function sizes(...axes: [number, number, number, number, number, number, number]): Sizes {
  const [batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures] = axes
  return {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures}
}

/** One token, one feature, one column of values; L and S on both sides of each other; lengths around a chunk of 64. */
const SHAPES: readonly Sizes[] = [
  sizes(1, 1, 1, 1, 3, 5, 7),
  sizes(2, 3, 13, 11, 5, 7, 17),
  sizes(1, 2, 7, 9, 6, 1, 1),
  sizes(3, 1, 5, 19, 17, 3, 13),
  sizes(1, 2, 65, 63, 7, 2, 3),
  sizes(1, 1, 67, 129, 3, 5, 64),
]

/** Every form on every shape, masked where it can be, with one projection for all heads on every second. */
function shapes(subject: Subject): Finding {
  const tally = new Tally('attend, and phi: sizes must come from the tensors, axis by axis')
  for (const [index, shape] of SHAPES.entries()) {
    const sharedProjection = index % 2 === 1
    for (const form of maskedForms(subject)) {
      tryShape(tally, callOf(subject, shape, {...form, sharedProjection}))
    }
  }
  return tally.finding()
}

function tryShape(tally: Tally, given: Call): void {
  const {batch, heads, queryLen, valueDim} = given.sizes
  const label = callName(given)
  try {
    const {out, denominator, shape} = runCall(given)
    const wanted = [batch, heads, queryLen, valueDim]
    tally.expect(
      label,
      `${shape}` === `${wanted}`,
      () => `the output is [${shape}], expected [${wanted}]`,
    )
    const rows = batch * heads * queryLen
    const counted = denominator?.length ?? rows
    tally.expect(
      label,
      counted === rows,
      () => `${counted} denominators, expected ${rows}: [B, H, L]`,
    )
    const at = out.findIndex(x => !Number.isFinite(x))
    tally.expect(label, at < 0, () => `element ${at} of the output is ${out[at]}`)
  } catch (error) {
    tally.expect(label, false, () => `threw: ${messageOf(error)}`)
  }
}

/** A batch element by itself gives the bits that it gives among others. */
function batchElements(subject: Subject): Finding {
  const tally = new Tally('sums, maxima or statistics over the axis of the batch')
  for (const {causal} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal})
    const {batch} = given.sizes
    compareParts(tally, subject, {given, what: 'batch element', count: batch, of: partOfBatch})
  }
  return tally.finding(closeness(subject))
}

/** A head by itself gives the bits that it gives among others. */
function heads(subject: Subject): Finding {
  const {estimator} = subject
  if (estimator.couplesHeads?.(estimator.options.parse({}))) {
    return notApplicable('declares that heads look at each other (couplesHeads)')
  }
  const tally = new Tally(
    'sums, maxima or statistics over the axis of the heads (couplesHeads says so, where it is meant)',
  )
  for (const {causal} of formsOf(subject)) {
    const given = callOf(subject, {...SMALL, batch: 1}, {causal})
    compareParts(tally, subject, {given, what: 'head', count: given.sizes.heads, of: partOfHead})
  }
  return tally.finding(closeness(subject))
}

function closeness({estimator}: Subject): string {
  return estimator.python === undefined ? 'to the bit' : 'within the rounding of Python'
}

interface Parts {
  given: Call
  what: string
  count: number
  of(given: Call, index: number): Call
}

/** Compares parts of a call by themselves with what they are in the whole: bits, unless other programs compute it. */
function compareParts(tally: Tally, {estimator}: Subject, {given, what, count, of}: Parts): void {
  const {out, bound} =
    estimator.python === undefined
      ? {out: runCall(given).out, bound: undefined}
      : boundedOutput(given)
  const size = out.length / count
  for (let index = 0; index < count; index++) {
    const actual = runCall(of(given, index)).out
    const [from, to] = [index * size, (index + 1) * size]
    const expected = out.subarray(from, to)
    // both are rounded
    const allowed = bound?.subarray(from, to).map(each => 2 * each) ?? 0
    tally.compare({
      ...{label: callName(given), actual, expected, bound: allowed},
      says: at =>
        `${what} ${index} by itself differs at element ${at} of its output by ${changeOf(expected, actual, at)}`,
    })
  }
}

export const SHAPE_CHECKS: readonly Check[] = [
  {name: 'shapes', group: 'shapes', run: shapes},
  {name: 'batch elements alone', group: 'shapes', run: batchElements},
  {name: 'heads alone', group: 'shapes', run: heads},
]
