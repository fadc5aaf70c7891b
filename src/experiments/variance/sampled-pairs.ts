/** Pairs of a query and a key as a model makes them, by what an estimate of isotropic rows depends on. */
import {type CausalView, keysInView} from '../../causal-view.js'
import {type AttentionArray, type AttentionInput, sizesOf} from '../../inputs/attention-input.js'
import {randomStream} from '../../random/index.js'
import type {SampledPair} from './schema.js'

export interface Sampling extends Partial<CausalView> {
  /** Of pairs, over all heads. */
  count: number
  seed: number
}

/**
 * Norms and angles of canonical queries and keys (times the root of the logit scale, `D^(-1/4)` where none is
 * stated) that are drawn uniformly from all pairs in view, the same number for each head or one more; with fewer
 * pairs than heads, evenly spaced heads have one. Padding is left out.
 */
export function samplePairs(input: AttentionInput, sampling: Sampling): SampledPair[] {
  const {batch, heads, queryLen, keyLen, headDim} = sizesOf(input)
  const {count, seed, causal = false, causalAlign} = sampling
  const view = {causal, causalAlign}
  const factor = Math.sqrt(input.logitScale ?? headDim ** -0.5)
  const stream = randomStream(seed, 'variance.pairs')
  const takesPart = (b: number, at: number) => input.keyMask?.[b * keyLen + at] !== 0
  const isInView = ({batch: b, query_index: query, key_index: key}: Place) =>
    takesPart(b, key) &&
    key < keysInView(view, {queryLen, keyLen}, query) &&
    (queryLen !== keyLen || takesPart(b, query))
  const place = (): Place => ({
    batch: stream.integer(batch),
    query_index: stream.integer(queryLen),
    key_index: stream.integer(keyLen),
  })
  return Array.from({length: count}, (_, at) => {
    const head = count < heads ? Math.floor((at * heads) / count) : at % heads
    let drawn = place()
    while (!isInView(drawn)) drawn = place()
    const x = vectorAt(input.query, [drawn.batch, head, drawn.query_index])
    const y = vectorAt(input.key, [drawn.batch, head, drawn.key_index])
    return {...drawn, head, ...planeOf(x, y, factor)}
  })
}

type Place = Pick<SampledPair, 'batch' | 'query_index' | 'key_index'>

function vectorAt(
  {shape: [, heads, length, dim], data}: AttentionArray,
  [b, head, at]: readonly [number, number, number],
): Float32Array {
  const start = ((b * heads + head) * length + at) * dim
  return data.subarray(start, start + dim)
}

/** Norms and angle of two vectors times a factor. */
function planeOf(x: Float32Array, y: Float32Array, factor: number) {
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, e, d) => sum + e * b[d]!, 0)
  const [xx, yy, xy] = [dot(x, x), dot(y, y), dot(x, y)]
  // by the area, so that small angles keep their digits
  const area = Math.sqrt(Math.max(0, xx * yy - xy * xy))
  return {
    norm: factor * Math.sqrt(xx),
    key_norm: factor * Math.sqrt(yy),
    angle_deg: (Math.atan2(area, xy) * 180) / Math.PI,
  }
}
