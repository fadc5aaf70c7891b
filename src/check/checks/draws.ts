/** Randomness comes from the seed alone, and calls leave nothing behind. */
import {attend, type PresetName} from '../../attention/index.js'
import {noiseSpecs} from '../../attention/internal.js'
import {usesProjection} from '../../attention/names.js'
import {tf} from '../../tf.js'
import {maskTensor, SMALL, toTensors} from '../calls/arrays.js'
import {hostCall, runCall} from '../calls/call.js'
import {callName, callOf, formsOf, maskedForms, placeOf, square} from '../calls/forms.js'
import {Tally} from '../calls/tally.js'
import type {Check, Finding, Subject} from '../types.js'
import {changeOf} from './laws.js'

/** Whether the estimator declares that it draws something with default options. */
export function isRandom({estimator}: Pick<Subject, 'estimator'>): boolean {
  const options = estimator.options.parse({})
  const noise = noiseSpecs(estimator, {...square(SMALL), causal: false}, options)
  return usesProjection(estimator, options) || Object.keys(noise).length > 0
}

/** Few features (methods with one feature per token leave nothing to chance), and ordinary ones. */
const FEATURES = [3, SMALL.numFeatures] as const

/** The same seed gives the same bits; another seed or replicate others, where something is drawn. */
function draws(subject: Subject): Finding {
  const random = isRandom(subject)
  const tally = new Tally(
    random
      ? 'randomness: take it from projection and noise, never from Math.random or tf.randomNormal'
      : 'projection and noise: what is random is declared there, and drawn from the seed',
  )
  for (const {causal} of formsOf(subject)) {
    const draw = {seed: subject.seed, replicate: 0}
    const given = callOf(subject, SMALL, {causal, draw})
    const label = `${callName(given)}, seed ${draw.seed}`
    const out = runCall(given).out
    const again = runCall(given).out
    const says = (at: number) =>
      `the same call gave ${placeOf(at, given.sizes)} another value, off by ${changeOf(out, again, at)}`
    tally.compare({label, actual: again, expected: out, bound: 0, says})
    const others = {
      'another seed': {...draw, seed: draw.seed + 1},
      'another replicate': {...draw, replicate: 1},
    }
    for (const [name, other] of Object.entries(others)) {
      const moves = FEATURES.some(numFeatures => {
        const few = {...given, sizes: {...given.sizes, numFeatures}}
        const now = runCall(few).out
        return runCall({...few, draw: other}).out.some((x, at) => x !== now[at])
      })
      tally.expect(`${causal ? 'causal' : 'bidirectional'}, ${name}`, moves === random, () =>
        moves
          ? `${name} changed the output, but neither projection nor noise is declared`
          : `${name} changed no bit of the output, though a draw is declared`,
      )
    }
  }
  return tally.finding()
}

/** A call gives the same bits before and after calls of other sizes, forms and inputs. */
function noMemory(subject: Subject): Finding {
  const tally = new Tally(
    'variables of the module: a call may leave nothing behind that another one sees',
  )
  const forms = formsOf(subject)
  for (const {causal} of forms) {
    const given = callOf(subject, SMALL, {causal})
    const before = runCall(given).out
    for (const other of forms) {
      runCall(
        callOf(subject, {...SMALL, headDim: 3, keyLen: 5, numFeatures: 4}, {causal: other.causal}),
      )
      runCall(callOf(subject, SMALL, {causal: other.causal, inputScale: 3}))
    }
    const after = runCall(given).out
    tally.compare({
      label: callName(given),
      actual: after,
      expected: before,
      bound: 0,
      says: at =>
        `calls in between changed ${placeOf(at, given.sizes)} by ${changeOf(before, after, at)}`,
    })
  }
  return tally.finding('to the bit')
}

/** A call leaves one tensor: its output. */
function memory(subject: Subject): Finding {
  const tally = new Tally(
    'tf.keep, and tensors made outside attend: make what phi needs in make or in attend',
  )
  const presets = Object.keys(subject.estimator.presets) as PresetName[]
  for (const preset of ['exact', ...presets] as const) {
    for (const form of maskedForms(subject)) countTensors(tally, subject, {preset, ...form})
  }
  return tally.finding()
}

/** The same of one form, with the defaults of a preset. */
function countTensors(
  tally: Tally,
  subject: Subject,
  {preset, ...form}: {preset: PresetName; causal: boolean; masked: boolean},
): void {
  const given = callOf(subject, SMALL, form)
  const {inputs, keyMask} = hostCall(given)
  const tensors = toTensors(inputs)
  const mask = keyMask && maskTensor(keyMask, given.sizes.batch)
  const owned = [...tensors, ...(mask ? [mask] : [])]
  const options = {
    method: subject.method,
    preset,
    causal: form.causal,
    numFeatures: 7,
    seed: subject.seed,
    ...(mask && {keyMask: mask}),
  }
  const before = tf.memory().numTensors
  const out = tf.tidy(() => attend(...tensors, options).out)
  const more = tf.memory().numTensors - before
  const gone = owned.filter(({isDisposed}) => isDisposed).length
  tf.dispose([out, ...owned])
  const label = [callName(given), ...(preset === 'exact' ? [] : [preset])].join(', ')
  tally.expect(label, more === 1, () => `${more} tensors more after a call, expected 1`)
  tally.expect(label, gone === 0, () => `${gone} of the tensors that were given are disposed`)
}

export const DRAW_CHECKS: readonly Check[] = [
  {name: 'same draw, same bits', group: 'laws', run: draws},
  {name: 'nothing left behind', group: 'laws', run: noMemory},
  {name: 'memory of a call', group: 'laws', run: memory},
]
