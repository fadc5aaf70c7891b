/** Rotary position embeddings: pairs of coordinates of queries and keys, turned by an angle that grows with position. */
import {z} from 'zod'
import {describe, expected} from '../errors.js'
import {tf} from '../tf.js'
import type {TokenBatch} from './types.js'

/** How angles follow from positions. */
export interface Rotary {
  /** theta: pair i of D / 2 turns by `theta^(-2 i / D)` a token. */
  base: number
  scaling: Scaling
}

type Scaling =
  | {type: 'default'}
  | {type: 'linear'; factor: number}
  | {type: 'llama3'; factor: number; low: number; high: number; original: number}

const scaling = z
  .object({
    rope_type: z.string().optional(),
    // the older name
    type: z.string().optional(),
    rope_theta: z.number().positive().optional(),
    partial_rotary_factor: z.number().nullish(),
  })
  // no others for kinds of layers
  .catchall(z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.number())]))
const linear = z.object({factor: z.number().positive()})
const llama3 = linear.extend({
  low_freq_factor: z.number().positive(),
  high_freq_factor: z.number().positive(),
  original_max_position_embeddings: z.number().positive(),
})

/** Fields of a configuration: `rope_parameters` of Transformers 5, the others of earlier ones. */
export const rotary = {
  rope_parameters: scaling.nullish(),
  rope_scaling: scaling.nullish(),
  rope_theta: z.number().positive().nullish(),
}

/** @throws {UNSUPPORTED | BAD_FILE} for another kind of scaling, and for one without its numbers */
export function toRotary(file: string, config: z.output<z.ZodObject<typeof rotary>>): Rotary {
  const given = config.rope_scaling ?? config.rope_parameters ?? {}
  const base = given.rope_theta ?? config.rope_theta ?? 10000
  const type = given.rope_type ?? given.type ?? 'default'
  if (type === 'default') return {base, scaling: {type}}
  const fields = type === 'linear' ? linear : type === 'llama3' ? llama3 : undefined
  if (!fields) {
    const what = 'a rope_type of default, linear, llama3'
    throw expected('UNSUPPORTED', file, what, describe(type), 'use another model')
  }
  const parsed = fields.safeParse(given)
  if (!parsed.success) {
    const what = `rope_parameters with ${Object.keys(fields.shape).join(', ')}`
    throw expected('BAD_FILE', file, what, JSON.stringify(given))
  }
  if (type === 'linear') return {base, scaling: {type, factor: parsed.data.factor}}
  const {factor, low_freq_factor, high_freq_factor, original_max_position_embeddings} =
    llama3.parse(given)
  return {
    base,
    scaling: {
      type: 'llama3',
      factor,
      low: low_freq_factor,
      high: high_freq_factor,
      original: original_max_position_embeddings,
    },
  }
}

/** Cosines and sines of angles, `[L, D]` each: halves of a row are alike. */
export interface Turns {
  cos: tf.Tensor2D
  sin: tf.Tensor2D
}

/** Angles of the tokens of a text from `offset` on, in the caller's scope. Angles are rounded to float32, as models are trained. */
export function turnsOf(
  {base, scaling}: Rotary,
  {length, offset = 0}: Pick<TokenBatch, 'length' | 'offset'>,
  headDim: number,
): Turns {
  const half = headDim / 2
  const cos = new Float32Array(length * headDim)
  const sin = new Float32Array(length * headDim)
  for (let i = 0; i < half; i++) {
    const speed = Math.fround(scaled(Math.fround(1 / base ** (i / half)), scaling))
    for (let token = 0; token < length; token++) {
      const angle = Math.fround((offset + token) * speed)
      const at = token * headDim + i
      cos[at] = cos[at + half] = Math.cos(angle)
      sin[at] = sin[at + half] = Math.sin(angle)
    }
  }
  const shape: [number, number] = [length, headDim]
  return {cos: tf.tensor2d(cos, shape), sin: tf.tensor2d(sin, shape)}
}

/** Llama 3 slows down pairs whose wave is longer than the context of training, and those in between by shares. */
function scaled(speed: number, scaling: Scaling): number {
  if (scaling.type === 'default') return speed
  if (scaling.type === 'linear') return speed / scaling.factor
  const {factor, low, high, original} = scaling
  const waves = (original * speed) / (2 * Math.PI)
  if (waves > high) return speed
  if (waves < low) return speed / factor
  const share = (waves - low) / (high - low)
  return ((1 - share) * speed) / factor + share * speed
}

/**
 * The matrix that maps `(a, b)` to `(-b, a)`, halves of a head, `[D, D]`: a product with it is exact, and faster than
 * slices along the last axis.
 */
export function quarterTurn(headDim: number): tf.Tensor2D {
  const half = headDim / 2
  const matrix = new Float32Array(headDim * headDim)
  for (let i = 0; i < half; i++) {
    matrix[(i + half) * headDim + i] = -1
    matrix[i * headDim + i + half] = 1
  }
  return tf.tensor2d(matrix, [headDim, headDim])
}

/** Turns `x` `[B, H, L, D]`: `x cos + (x quarter) sin`. */
export function turn(x: tf.Tensor4D, {cos, sin}: Turns, quarter: tf.Tensor2D): tf.Tensor4D {
  const flat = tf.reshape(x, [-1, x.shape[3]]) as tf.Tensor2D
  const other = tf.reshape(tf.matMul(flat, quarter), x.shape)
  return tf.add(tf.mul(x, cos), tf.mul(other, sin))
}
