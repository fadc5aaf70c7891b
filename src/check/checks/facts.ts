/** Whether an estimator is what it declares: sizes, costs, what it ignores, the sign of its weights. */

import type {PresetName} from '../../attention/index.js'
import {attendInputs} from '../../attention/internal.js'
import {resolveOptions} from '../../attention/names.js'
import {tf} from '../../tf.js'
import {type Sizes, SMALL, toTensors} from '../calls/arrays.js'
import {type Call, hostCall, runCall} from '../calls/call.js'
import {decodeAll, decoderOfCall} from '../calls/decode.js'
import {callName, callOf, formsOf, square} from '../calls/forms.js'
import {roundings, weightsOf} from '../calls/output-bound.js'
import {gamma} from '../calls/rounding.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'

/** Defaults and presets are options that the schema takes; forms come with what they need. */
function declaration({estimator}: Subject): Finding {
  const tally = new Tally('the facts that defineEstimator or defineFeatureMap was given')
  const {supports, decoder, stateBytes, name} = estimator
  for (const preset of ['exact', ...Object.keys(estimator.presets)] as PresetName[]) {
    const problem = thrown(() => resolveOptions(estimator, preset))
    const source = preset === 'exact' ? 'defaults of options' : `options of preset ${preset}`
    tally.expect(source, problem === undefined, () => problem!)
  }
  tally.expect(
    'supports',
    supports.bidirectional || supports.causal,
    () => 'neither a bidirectional nor a causal form is declared, so nothing can be computed',
  )
  tally.expect(
    'supports.decode',
    !supports.decode || (decoder !== undefined && stateBytes !== undefined && supports.causal),
    () => `${name} declares decode, which needs decoder, stateBytes and a causal form`,
  )
  return tally.finding()
}

/** The message of what a call throws, if it throws. */
function thrown(body: () => unknown): string | undefined {
  try {
    body()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Sizes at which F is tried: M below D, equal to it and above. */
const FEATURE_SIZES = [
  {numFeatures: 3, headDim: 5},
  {numFeatures: 7, headDim: 7},
  {numFeatures: 17, headDim: 4},
] as const

/** `featureDim` is the length of phi: of the features of a call, or of those of kernel estimates. */
function featureLength(subject: Subject): Finding {
  const {estimator} = subject
  if (!estimator.features) {
    return notApplicable('attend is custom: there is no feature map to count')
  }
  const causal = !estimator.supports.bidirectional
  const tally = new Tally('featureDim, and the last axis of what phi returns')
  for (const size of FEATURE_SIZES) {
    const given = callOf(subject, {...SMALL, batch: 1, heads: 2, ...size}, {causal})
    const options = resolveOptions(estimator, 'exact')
    const declared = estimator.featureDim(size.numFeatures, size.headDim, options)
    const shapes = featureShapes(given)
    const label = `M=${size.numFeatures} D=${size.headDim}`
    for (const [side, shape] of Object.entries(shapes)) {
      const tokens = side === 'query' ? given.sizes.queryLen : given.sizes.keyLen
      const wanted = [1, 2, tokens, declared]
      tally.expect(
        label,
        `${shape}` === `${wanted}`,
        () => `phi of ${tokens} tokens of a ${side} is [${shape}], expected [${wanted}]`,
      )
    }
  }
  return tally.finding()
}

function featureShapes(given: Call): Record<'query' | 'key', number[]> {
  const shapes = {query: [] as number[], key: [] as number[]}
  tf.tidy(() => {
    const {method, sizes, causal = false, seed = 0} = given
    const tensors = toTensors(hostCall(given).inputs)
    const {estimator, inputs} = attendInputs(...tensors, {
      method,
      causal,
      seed,
      numFeatures: sizes.numFeatures,
    })
    const {query, key} = estimator.features!(inputs)
    Object.assign(shapes, {query: query.shape, key: key.shape})
  })
  return shapes
}

/** Tokens after which the state is looked at. */
const STATE_LENGTHS = [3, 7] as const

/** A decoder holds the bytes that `stateBytes` says, up to a few small tensors (running maxima, scales). */
function stateSize(subject: Subject): Finding {
  const {estimator} = subject
  if (!estimator.supports.decode)
    return notApplicable('declares no recurrent form (supports.decode)')
  const tally = new Tally('stateBytes, and the tensors in the state of the decoder')
  for (const length of STATE_LENGTHS) {
    const given = callOf(subject, square(SMALL, length), {causal: true})
    const decoder = decoderOfCall(given)
    decodeAll(decoder, hostCall(given).inputs)
    const tensors = Object.values(decoder.state)
    const all = tensors.reduce((sum, {size}) => sum + 4 * size, 0)
    // one number for each head or feature may be left out of what is stated
    const widest = Math.max(...tensors.map(({size}) => size))
    const small = tensors.filter(({size}) => size * SMALL.valueDim <= widest)
    const least = all - small.reduce((sum, {size}) => sum + 4 * size, 0)
    const held = decoder.stateBytes
    decoder.dispose()
    const {batch, heads} = given.sizes
    const options = resolveOptions(estimator, 'exact')
    const perHead = estimator.stateBytes!({...given.sizes, length}, options)
    const declared = batch * heads * perHead
    tally.expect(
      `${length} tokens`,
      declared >= least && declared <= all && held === all,
      () =>
        `stateBytes says ${declared} bytes for ${batch * heads} heads, the tensors have ${all}, and the decoder reports ${held}`,
    )
  }
  return tally.finding()
}

/** Work is a positive number, twice as much for twice the batch, and no less for longer sequences. */
function cost({estimator}: Subject): Finding {
  const tally = new Tally(
    'cost: floating-point operations of one forward call, a multiply-add counting two',
  )
  const options = resolveOptions(estimator, 'exact')
  const base = {...SMALL, queryLen: 64, keyLen: 64}
  for (const {name, causal} of formsOf({estimator})) {
    const flops = (sizes: Sizes) => estimator.cost({...sizes, causal}, options).flops
    const one = flops(base)
    tally.expect(`${name} at 64 tokens`, one > 0 && Number.isFinite(one), () => `${one} operations`)
    const twice = flops({...base, batch: 2 * base.batch})
    tally.expect(
      `${name}, twice the batch`,
      Math.abs(twice - 2 * one) <= 1e-9 * one,
      () => `${twice} operations, expected twice ${one}`,
    )
    const long = flops(square(base, 128))
    tally.expect(`${name}, twice the tokens`, long >= one, () => `${long} operations after ${one}`)
  }
  return tally.finding()
}

/** What is declared as ignored changes nothing, and everything else something. */
function ignored(subject: Subject): Finding {
  const tally = new Tally('ignores: a method that does not look at queries or keys says so there')
  const {ignores = {}} = subject.estimator
  for (const {name, causal} of formsOf(subject)) {
    const given = callOf(subject, SMALL, {causal})
    const other = callOf(subject, SMALL, {causal, inputScale: 0.8})
    const {out} = runCall(given)
    const {inputs} = hostCall(given)
    for (const side of ['query', 'key', 'value'] as const) {
      const data = hostCall(other).inputs[side].data
      const changed = {...inputs[side], data: data.map(x => x * 0.8 + 0.1)}
      const after = runCall({...given, inputs: {...inputs, [side]: changed}}).out
      const moves = after.some((x, at) => x !== out[at])
      const declared = side in ignores
      tally.expect(`${name}, other ${side}`, moves !== declared, () =>
        moves
          ? `ignores.${side} is declared, but other ${side} values change the output`
          : `other ${side} values change no bit of the output`,
      )
    }
  }
  return tally.finding()
}

/** Input scales at which signs of weights are looked at. */
const SIGN_SCALES = [0.5, 1, 2] as const

/**
 * No weight is negative. Sums of products that are not negative are never negative in float32; weights that are small
 * differences may be by `gamma_n` of the largest, n the roundings on their way.
 */
function nonNegative(subject: Subject): Finding {
  const {estimator} = subject
  if (!estimator.nonNegative)
    return notApplicable('declares that weights may be negative (nonNegative: false)')
  const tally = new Tally(
    'nonNegative: features that may be negative have products that may be, too',
  )
  for (const {causal} of formsOf(subject)) {
    for (const inputScale of SIGN_SCALES) {
      const given = callOf(subject, {...SMALL, batch: 1}, {causal, inputScale})
      const weights = weightsOf(given)
      const {keyLen, queryLen} = given.sizes
      const largest = weights.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
      tally.compare({
        label: callName({...given, options: {}}),
        actual: weights.map(x => Math.min(0, x)),
        expected: new Float64Array(weights.length),
        bound: gamma(roundings(given)) * largest,
        says: at =>
          `the weight of row ${Math.floor(at / keyLen) % queryLen} on key ${at % keyLen} (head ${Math.floor(at / keyLen / queryLen)}) is ${weights[at]!.toPrecision(3)}`,
      })
    }
  }
  return tally.finding()
}

export const FACTS: readonly Check[] = [
  {name: 'declaration', group: 'facts', run: declaration},
  {name: 'feature length', group: 'facts', run: featureLength},
  {name: 'state size', group: 'facts', run: stateSize},
  {name: 'cost', group: 'facts', run: cost},
  {name: 'ignored inputs', group: 'facts', run: ignored},
  {name: 'no negative weight', group: 'facts', run: nonNegative},
]
