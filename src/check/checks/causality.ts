/** Causal rows see no later token, and masked keys are not there. */
import {estimatorNamed} from '../../attention/names.js'
import type {HostInputs, Sizes} from '../calls/arrays.js'
import {hostNormals, SMALL, sliceRows} from '../calls/arrays.js'
import {type Call, hostCall, runCall} from '../calls/call.js'
import {callName, callOf, type Form, formsOf, inputsOf, placeOf, square} from '../calls/forms.js'
import {type BoundedOutput, boundedOutput, jointBound} from '../calls/output-bound.js'
import {mapInputs, PADDING, padded, replacedTokens} from '../calls/parts.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {changeOf, compareCalls} from './laws.js'

/** Tokens that are changed, each by itself, with everything after it, by draws of other sizes. */
const CHANGES = [
  {first: 12, factor: 1},
  {first: 9, factor: 10},
  {first: 1, factor: 1},
  {first: 5, factor: 0.1},
] as const

/** Around the chunks in which causal sums are formed. */
const LONG_CHANGES = [
  {first: 64, factor: 10},
  {first: 65, factor: 1},
] as const

const ADVICE =
  'phi of a causal call: maxima, means and norms over the sequence use later tokens (the input causal says when a call is causal)'

/** Rows before a changed token keep their bits. */
function causality(subject: Subject): Finding {
  const {supports, causalSelectionLeaks = false} = subject.estimator
  if (!supports.causal) return notApplicable('declares no causal form (supports.causal)')
  const tally = new Tally(ADVICE)
  const only = causalSelectionLeaks ? (['value'] as const) : (['query', 'key', 'value'] as const)
  for (const [length, changes] of [
    [13, CHANGES],
    [67, LONG_CHANGES],
  ] as const) {
    const sizes = square({...SMALL, batch: 1, heads: 2}, length)
    const given = calibrated(subject, callOf(subject, sizes, {causal: true}))
    causalRows(
      tally,
      given,
      changes.map(change => ({...change, sides: only})),
      subject,
    )
  }
  const note = causalSelectionLeaks
    ? 'values only: which earlier tokens a row uses is declared to depend on later ones (causalSelectionLeaks)'
    : 'to the bit'
  return tally.finding(note)
}

/** Tokens to take statistics from, for methods that would else take those of the call. */
export function calibrated(subject: Subject, given: Call): Call {
  if (!subject.estimator.calibrates) return given
  const {query, key} = inputsOf(
    subject,
    {...given.sizes, queryLen: 29, keyLen: 31},
    1,
    'calibration',
  )
  return {...given, calibration: {query, key}}
}

interface Change {
  first: number
  factor: number
  sides: readonly (keyof HostInputs)[]
}

/** Compares rows before changed tokens as they are with those after the change. */
export function causalRows(
  tally: Tally,
  given: Call,
  changes: readonly Change[],
  subject: Subject,
): void {
  const {inputs} = hostCall(given)
  const before = runCall(given).out
  for (const {first, factor, sides} of changes) {
    const changedBy = (size: number) => {
      const other = inputsOf(subject, given.sizes, size, 'later')
      const changed = mapInputs(inputs, (array, name) =>
        sides.includes(name) ? replacedTokens(array, other[name], first) : array,
      )
      return runCall({...given, inputs: changed}).out
    }
    const earlier = (out: Float32Array) => earlierRows(out, given.sizes, first)
    const after = finiteOf(changedBy, {size: factor, rows: earlier})
    tally.compare({
      label: `${callName(given)}, tokens from ${first} on changed`,
      actual: earlier(after),
      expected: earlier(before),
      bound: 0,
      says: at =>
        `changing token ${first} and later ones changed ${placeOf(at, given.sizes)} by ${changeOf(before, after, at)}`,
    })
  }
}

/** What large tokens give, or ordinary ones where features of large ones overflow in the rows that are compared. */
function finiteOf(
  outputs: (size: number) => Float32Array,
  {size, rows}: {size: number; rows: (out: Float32Array) => Float32Array},
): Float32Array {
  const large = outputs(size)
  return rows(large).every(Number.isFinite) ? large : outputs(1)
}

/** The same output with zeros in rows from `first` on, whatever stands there. */
function earlierRows(out: Float32Array, {valueDim, queryLen}: Sizes, first: number): Float32Array {
  return out.map((x, at) => (Math.floor(at / valueDim) % queryLen < first ? x : 0))
}

const MASK_ADVICE = 'keyMask: a masked key may enter neither sums nor maxima nor means'

/** A check of every form with a key mask. */
function maskCheck(
  name: string,
  compare: (tally: Tally, subject: Subject, form: Form) => void,
  advice = MASK_ADVICE,
): Check {
  return {
    name,
    group: 'laws',
    run(subject) {
      if (!subject.estimator.supports.keyMask) {
        return notApplicable('declares no form with a key mask (supports.keyMask)')
      }
      const tally = new Tally(advice)
      for (const form of formsOf(subject)) compare(tally, subject, form)
      return tally.finding()
    },
  }
}

/** Padding that is masked gives what the trimmed call gives. */
function maskedPadding(tally: Tally, subject: Subject, {causal}: Form): void {
  const {lengthFreeOptions: options = {}} = subject.estimator
  const trimmed = callOf(subject, SMALL, {causal, options: options as Record<string, unknown>})
  const short = boundedOutput(trimmed)
  for (const extra of [1, 5]) comparePadded(tally, trimmed, short, extra)
}

function comparePadded(tally: Tally, trimmed: Call, short: BoundedOutput, extra: number): void {
  const {cross} = estimatorNamed(trimmed.method).supports
  const {inputs} = hostCall(trimmed)
  const own = trimmed.sizes
  const keyLen = own.keyLen + extra
  const queryLen = cross ? own.queryLen : keyLen
  const longOf = (size: number): Call => ({
    ...trimmed,
    sizes: {...own, queryLen, keyLen},
    inputs: mapInputs(inputs, (array, name) =>
      name === 'query' && cross ? array : padded(array, extra, `padding.${name}`, size),
    ),
    keyMask: Float32Array.from({length: own.batch * keyLen}, (_, i) =>
      i % keyLen < own.keyLen ? 1 : 0,
    ),
  })
  // features of large padding may overflow
  const large = longOf(PADDING)
  const long = runCall(large).out.every(Number.isFinite) ? large : longOf(1)
  const whole = boundedOutput(long)
  const rows = (data: Float32Array | Float64Array) =>
    sliceRows({shape: [own.batch, own.heads, queryLen, own.valueDim], data}, 0, own.queryLen).data
  const out = rows(whole.out)
  tally.compare({
    label: `${callName(trimmed)}, ${extra} masked keys behind`,
    actual: out,
    expected: short.out,
    bound: jointBound(short, {out, bound: rows(whole.bound)}),
    says: at =>
      `${extra} masked keys behind the others changed ${placeOf(at, own)} by ${changeOf(short.out, out, at)}`,
  })
}

/** What masked keys and their values hold does not matter. */
function maskedContent(tally: Tally, subject: Subject, {causal}: Form): void {
  const given = callOf(subject, SMALL, {causal, masked: true})
  const {inputs, keyMask} = hostCall(given)
  const {heads, keyLen} = given.sizes
  const gone = (array: HostInputs['key'], name: string) => {
    const filler = hostNormals(name, array.shape, 3).data
    const width = array.shape[3]
    const masked = (at: number) => {
      const row = Math.floor(at / width)
      return keyMask![Math.floor(row / keyLen / heads) * keyLen + (row % keyLen)] === 0
    }
    return {...array, data: array.data.map((x, at) => (masked(at) ? filler[at]! : x))}
  }
  const changed = mapInputs(inputs, (array, name) =>
    name === 'query' ? array : gone(array, `masked.${name}`),
  )
  compareCalls(tally, callName(given), given, {...given, inputs: changed}, 'other masked keys')
}

/** A mask of ones changes nothing. */
function maskOfOnes(tally: Tally, subject: Subject, {causal, name}: Form): void {
  const given = callOf(subject, SMALL, {causal})
  const {batch, keyLen} = given.sizes
  const keyMask = new Float32Array(batch * keyLen).fill(1)
  const plain = runCall(given).out
  const masked = runCall({...given, keyMask}).out
  const says = (at: number) =>
    `a mask of ones changed ${placeOf(at, given.sizes)} by ${changeOf(plain, masked, at)}`
  tally.compare({label: `${name}, mask of ones`, actual: masked, expected: plain, bound: 0, says})
}

/** Rows that see no key are zero. */
function noKeyLeft(tally: Tally, subject: Subject, {causal, name}: Form): void {
  const given = callOf(subject, SMALL, {causal})
  const {batch, keyLen} = given.sizes
  const keyMask = Float32Array.from({length: batch * keyLen}, (_, i) => (i < keyLen ? 0 : 1))
  const none = runCall({...given, keyMask}).out
  const size = none.length / batch
  const [empty, rest] = [none.subarray(0, size), none.subarray(size)]
  const at = empty.findIndex(x => x !== 0)
  const label = `${name}, no key left`
  tally.expect(label, at < 0, () => `element ${at} is ${empty[at]}, expected 0`)
  const other = rest.findIndex(x => !Number.isFinite(x))
  tally.expect(label, other < 0, () => `another batch element has ${rest[other]}`)
}

const NONE_ADVICE = `${MASK_ADVICE}; where no key is left, 0 / 0 must become 0`

export const VIEW_CHECKS: readonly Check[] = [
  {name: 'causality', group: 'laws', run: causality},
  maskCheck('masked padding', maskedPadding),
  maskCheck('content of masked keys', maskedContent),
  maskCheck('mask of ones', maskOfOnes),
  maskCheck('no key left', noKeyLeft, NONE_ADVICE),
]
