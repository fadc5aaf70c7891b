/** Laws of attention in the values, the keys and the scale. */
import {SMALL} from '../calls/arrays.js'
import {type Call, hostCall, optionsOf, runCall} from '../calls/call.js'
import {arrayOf, callName, callOf, formsOf, placeOf} from '../calls/forms.js'
import {boundedOutput, jointBound, weightsOf} from '../calls/output-bound.js'
import {mapInputs, reordered} from '../calls/parts.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'

/** Both calls have the same exact output: they may differ by their {@link jointBound}. */
export function compareCalls(tally: Tally, label: string, a: Call, b: Call, change: string): void {
  const [first, second] = [boundedOutput(a), boundedOutput(b)]
  tally.compare({
    label,
    actual: second.out,
    expected: first.out,
    bound: jointBound(first, second),
    says: at =>
      `${change} changed ${placeOf(at, a.sizes)} by ${changeOf(first.out, second.out, at)}`,
  })
}

/** How far an element moved, as messages show it. */
export function changeOf(before: ArrayLike<number>, after: ArrayLike<number>, at: number): string {
  const change = Math.abs(after[at]! - before[at]!)
  return Number.isFinite(change) ? change.toPrecision(2) : `${before[at]} to ${after[at]}`
}

/** Rows of weights that sum to one return a constant value as it is; a row of no weight at all is zero. */
function constantValues(subject: Subject): Finding {
  if (!subject.estimator.rowsSumToOne) {
    return notApplicable('declares that weights of a row need not sum to one (rowsSumToOne: false)')
  }
  const tally = new Tally('the denominator: it must be the sum of the weights in the numerator')
  const constant = 3.75
  for (const {causal} of formsOf(subject)) {
    const plain = callOf(subject, SMALL, {causal})
    const inputs = mapInputs(hostCall(plain).inputs, (array, name) =>
      name === 'value' ? {...array, data: array.data.map(() => constant)} : array,
    )
    const given = {...plain, inputs}
    const {out, bound} = boundedOutput(given)
    const weights = weightsOf(plain)
    const {keyLen, valueDim} = given.sizes
    const empty = (row: number) =>
      weights.subarray(row * keyLen, (row + 1) * keyLen).every(weight => weight === 0)
    tally.compare({
      label: callName(given),
      actual: out,
      expected: out.map((_, at) => (empty(Math.floor(at / valueDim)) ? 0 : constant)),
      bound,
      says: at => `values of ${constant} everywhere gave ${out[at]} in ${placeOf(at, given.sizes)}`,
    })
  }
  return tally.finding()
}

/** Outputs are linear in the values: the weights do not look at them. */
function linearInValues(subject: Subject): Finding {
  const tally = new Tally('attend: weights must come from queries and keys alone')
  const [a, b] = [0.75, -1.5] // exact in float32
  for (const {causal} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal})
    const {value, ...sides} = hostCall(given).inputs
    const other = arrayOf(subject, 'other.value', value.shape)
    const mixed = value.data.map((x, at) => Math.fround(a * x + b * other.data[at]!))
    const of = (data: typeof value.data) =>
      boundedOutput({...given, inputs: {...sides, value: {...value, data}}})
    const [first, second, both] = [of(value.data), of(other.data), of(mixed)]
    const sum = first.out.map((x, at) => a * x + b * second.out[at]!)
    tally.compare({
      label: callName(given),
      actual: both.out,
      expected: sum,
      // the bound of a mixture counts the rounding of its values too
      bound: both.bound.map(
        (bound, at) => bound + Math.abs(a) * first.bound[at]! + Math.abs(b) * second.bound[at]!,
      ),
      says: at =>
        `for ${a} V + ${b} V', ${placeOf(at, given.sizes)} is off ${a} out + ${b} out' by ${changeOf(sum, both.out, at)}`,
    })
  }
  return tally.finding()
}

/** Keys in another order with their values give the same. */
function orderOfKeys(subject: Subject): Finding {
  const {keyOrderMatters, supports} = subject.estimator
  if (keyOrderMatters)
    return notApplicable('declares that the order of keys matters (keyOrderMatters)')
  if (!supports.bidirectional) return notApplicable('declares no bidirectional form')
  const tally = new Tally(
    'phi of a key: it may use neither its place nor its neighbours (keyOrderMatters says so, where it is meant)',
  )
  const given = callOf(subject)
  const {keyLen} = given.sizes
  const orders = {
    'keys reversed': Array.from({length: keyLen}, (_, j) => keyLen - 1 - j),
    'keys 0 and 1 exchanged': Array.from({length: keyLen}, (_, j) => (j < 2 ? 1 - j : j)),
    'keys rotated by 3': Array.from({length: keyLen}, (_, j) => (j + 3) % keyLen),
  }
  for (const [name, order] of Object.entries(orders)) {
    const inputs = mapInputs(hostCall(given).inputs, (array, side) =>
      side === 'query' ? array : reordered(array, order),
    )
    compareCalls(tally, name, given, {...given, inputs}, 'another order')
  }
  return tally.finding()
}

/** The scale of logits is a factor on queries and keys, or nothing where inputs are raw. */
function logitScale(subject: Subject): Finding {
  const {estimator} = subject
  const tally = new Tally(
    'inputScale: x = inputScale q and y = inputScale k, for queries and keys alike',
  )
  const scale = 0.23
  for (const {causal} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal, scale})
    const options = optionsOf(given)
    const plain = callOf(subject, SMALL, {causal})
    if (estimator.inputs(options) === 'raw') {
      const [scaled, unscaled] = [runCall(given).out, runCall(plain).out]
      const says = (at: number) =>
        `inputs are declared raw, but the scale changed ${placeOf(at, given.sizes)} by ${changeOf(unscaled, scaled, at)}`
      tally.compare({label: callName(given), actual: scaled, expected: unscaled, bound: 0, says})
      continue
    }
    // sqrt(scale) q = sqrt(D^-1/2) (c q); where unit vectors of queries are the keys, queries alone bear the scale
    const ratio = scale * Math.sqrt(given.sizes.headDim)
    const shared = estimator.target(options)?.inputs === 'shared'
    const factor = shared ? ratio : Math.sqrt(ratio)
    const inputs = mapInputs(hostCall(plain).inputs, (array, name) =>
      name === 'value' ? array : {...array, data: Float64Array.from(array.data, x => x * factor)},
    )
    const label = callName(given)
    compareCalls(
      tally,
      label,
      given,
      {...plain, inputs},
      `scaling q and k by ${factor.toPrecision(3)} in its place`,
    )
  }
  return tally.finding()
}

export const LAWS: readonly Check[] = [
  {name: 'constant values', group: 'laws', run: constantValues},
  {name: 'linear in values', group: 'laws', run: linearInValues},
  {name: 'order of keys', group: 'laws', run: orderOfKeys},
  {name: 'logit scale', group: 'laws', run: logitScale},
]
