/** What is compared on held-out tokens. */
import {tf} from '../../../attention/index.js'
import {finiteOrNull, mean} from '../../../stats/index.js'
import type {HeadSizes} from '../../../tuned/index.js'
import {attendOptions, viewOf} from '../../axes.js'
import {resolveMethod, unsupportedReason} from '../../method.js'
import {MORE_FEATURES, type TuneCell, type Variant, type VariantError} from '../schema.js'
import type {Parameters} from './parameters.js'
import {numbersOf, type Problem} from './problem.js'
import {drawsOf, errorsOf, textErrorsOf} from './task.js'

export interface Measured {
  cell: TuneCell
  sizes: HeadSizes
  learned: Problem
  heldOut: Problem
  /** What was learned. */
  parameters: Parameters
}

/** Methods with a closed form for what is learned here. */
const RIVALS = ['oprf', 'saderf'] as const

/**
 * Errors of all variants, of each draw; those that the method has no use for are left out.
 *
 * @param inHaste - untuned and tuned alone
 */
export async function variantErrors(measured: Measured, inHaste: boolean): Promise<VariantError[]> {
  const {cell} = measured
  const draws = drawsOf(cell)
  const rivals = inHaste ? [] : await Promise.all(RIVALS.map(name => rivalOf(measured, name)))
  const errors: VariantError[] = []
  tf.tidy(() => {
    for (const draw of draws) {
      errors.push(...tunedAndNot(measured, draw), ...yardsticks(measured, draw))
      if (!inHaste) errors.push(...ownVariants(measured, draw))
      for (const rival of rivals) if (rival) errors.push(rival(draw))
    }
  })
  return errors
}

function tunedAndNot({cell, heldOut, parameters}: Measured, draw: number): VariantError[] {
  const drawn = drawnAs(cell, draw)
  const options = attendOptions(cell, draw)
  const [before, after] = [{}, parameters].map(own => textErrorsOf(heldOut, options, own))
  return [errorOf('untuned', drawn, before!, heldOut), errorOf('tuned', drawn, after!, heldOut)]
}

/** What looks at neither queries nor keys. */
function yardsticks({cell, heldOut}: Measured, draw: number): VariantError[] {
  const drawn = drawnAs({num_features: null}, draw)
  const average = textErrorsOf(heldOut, {method: 'mean-value', ...viewOf(cell)})
  const ones = ({length}: ArrayLike<number>) => Array.from({length}, () => 1)
  const [per_head, per_text] = [heldOut.norms, heldOut.textNorms].map(ones) as [number[], number[]]
  return [
    errorOf('mean_value', drawn, average, heldOut),
    {...{variant: 'zero', ...drawn, rel_l2: 1}, per_head, per_text},
  ]
}

/** The method with the best temperatures, and with more random vectors. */
function ownVariants(measured: Measured, draw: number): VariantError[] {
  const {cell, heldOut} = measured
  const {num_features} = cell
  const errors = textErrorsOf(heldOut, attendOptions(cell, draw), bestTemperatures(measured, draw))
  return [
    errorOf('temperature', drawnAs(cell, draw), errors, heldOut),
    ...(num_features === null ? [] : [moreFeatures(cell, heldOut, draw)]),
  ]
}

function moreFeatures(cell: TuneCell, heldOut: Problem, draw: number): VariantError {
  const num_features = MORE_FEATURES * cell.num_features!
  const errors = textErrorsOf(heldOut, attendOptions({...cell, num_features}, draw))
  return errorOf('more_features', drawnAs({num_features}, draw), errors, heldOut)
}

/** Factors that are tried. */
const FACTORS = [1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.2]

/** The factor on queries and keys with the lowest error on the tokens that were learned on, for each key head. */
function bestTemperatures(
  {cell, sizes, learned}: Pick<Measured, 'cell' | 'sizes' | 'learned'>,
  draw: number,
): Parameters {
  const {heads, keyHeads} = sizes
  const group = heads / keyHeads
  const options = attendOptions(cell, draw)
  const tried = FACTORS.map(factor => {
    const temperature = Math.log(factor)
    const errors = errorsOf(learned, options, {temperature: tf.fill([keyHeads], temperature)})
    return {temperature, errors}
  })
  const best = Array.from({length: keyHeads}, (_, head) => {
    const errorIn = ({errors}: (typeof tried)[number]) =>
      mean([...errors.subarray(head * group, (head + 1) * group)])
    return tried.reduce((a, b) => (errorIn(b) < errorIn(a) ? b : a)).temperature
  })
  return {temperature: tf.tensor1d(best)}
}

/** Another method with as many random vectors, its statistics from tokens that were learned on. */
async function rivalOf(
  {cell, learned, heldOut}: Measured,
  variant: (typeof RIVALS)[number],
): Promise<((draw: number) => VariantError) | undefined> {
  const {num_features} = cell
  if (num_features === null || cell.method === variant) return undefined
  const own = {...cell, method: variant, preset: 'exact' as const, options: {}}
  const method = await resolveMethod(own)
  const form = {
    causal: cell.causal,
    cross: heldOut.query.shape[2] !== heldOut.key.shape[2],
    masked: heldOut.keyMask !== undefined,
  }
  if (unsupportedReason(method, form) !== undefined) return undefined
  const projection = cell.projection ?? method.estimator.projection!.default
  return draw => {
    const calibration = calibrationOf(learned, heldOut.query.shape[0])
    const options = {...attendOptions({...own, projection}, draw), calibration}
    const errors = textErrorsOf(heldOut, options)
    return errorOf(variant, drawnAs(cell, draw), errors, heldOut)
  }
}

/** Queries and keys of as many texts as the batch has, up to the end of the shortest; texts are repeated where there are fewer. */
function calibrationOf({query, key, keyMask}: Problem, batch: number) {
  const [texts, heads, queryLen, dim] = query.shape
  return tf.tidy(() => {
    const counts = keyMask ? [...numbersOf(tf.sum(keyMask, 1))] : [key.shape[2]]
    const length = Math.min(queryLen, ...counts)
    const own = Math.min(texts, batch)
    const part = (x: tf.Tensor4D): tf.Tensor4D => {
      const some = tf.slice(x, [0, 0, 0, 0], [own, heads, length, dim])
      const all = tf.tile(some, [Math.ceil(batch / own), 1, 1, 1])
      return tf.slice(all, [0, 0, 0, 0], [batch, heads, length, dim])
    }
    return {query: part(query), key: part(key)}
  })
}

function drawnAs({num_features}: Pick<TuneCell, 'num_features'>, draw: number) {
  return {replicate: draw, variant_num_features: num_features}
}

/** @param errors - what each text adds to the squared relative error of each head, `[B, H]` */
function errorOf(
  variant: Variant,
  drawn: Pick<VariantError, 'replicate' | 'variant_num_features'>,
  errors: Float32Array,
  {norms, textNorms}: Problem,
): VariantError {
  const heads = norms.length
  const ofHeads = new Float64Array(heads)
  const ofTexts = new Float64Array(textNorms.length)
  errors.forEach((error, at) => {
    const [text, head] = [Math.floor(at / heads), at % heads]
    ofHeads[head]! += error
    ofTexts[text]! += error * norms[head]!
  })
  const sum = (values: ArrayLike<number>) => Array.from(values).reduce((all, one) => all + one, 0)
  const root = (square: number) => finiteOrNull(Math.sqrt(square))
  return {
    ...{variant, ...drawn, rel_l2: root(sum(ofTexts) / sum(norms))},
    per_head: Array.from(ofHeads, root),
    per_text: Array.from(ofTexts, (square, text) => root(square / textNorms[text]!)),
  }
}
