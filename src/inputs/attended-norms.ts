/** How large |x+y|^2 is where exact attention looks: what the noise of positive features depends on there. */
import {type CausalView, keysInView} from '../causal-view.js'
import {type AttentionInput, sizesOf} from './attention-input.js'
import {evenlySpaced} from './statistics.js'

/** Share of the attention that the number holds for. */
const ATTENDED = 0.95

/** Multiply-adds that the pairs of a head of all sequences may take; beyond, evenly spaced queries stand for all. */
const BUDGET = 2e7
const LEAST_QUERIES = 16

/** Of pairs in view. */
interface Pairs {
  /** |x+y|^2 */
  norms: number[]
  /** Their shares of the attention of a query, which sum to 1 for each. */
  weights: number[]
}

/**
 * For each head the |x+y|^2 that {@link ATTENDED} of its attention does not exceed. One kernel entry has a relative variance of
 * `(exp(|x+y|^2) - 1) / M` with positive features, so that its exponential is the M from which on noise is below the entry for that
 * share; the exponential of the mean |x+y|^2 is far smaller.
 *
 * @param parts - what is seen, see `masked-tokens.ts`; all of equally many heads
 */
export function attendedNorms(
  parts: readonly Pick<AttentionInput, 'query' | 'key' | 'value'>[],
  {logitScale, ...view}: {logitScale: number} & CausalView,
): number[] {
  const heads = sizesOf(parts[0]!).heads
  return Array.from({length: heads}, (_, head) => {
    const pairs: Pairs = {norms: [], weights: []}
    for (const part of parts) {
      const {batch} = sizesOf(part)
      for (let b = 0; b < batch; b++) {
        addPairs(pairs, part, {
          at: b * heads + head,
          logitScale,
          view,
          texts: parts.length * batch,
        })
      }
    }
    return quantile(pairs)
  })
}

function addPairs(
  {norms, weights}: Pairs,
  {query, key}: Pick<AttentionInput, 'query' | 'key'>,
  {at, logitScale, view, texts}: {at: number; logitScale: number; view: CausalView; texts: number},
): void {
  const [, , queryLen, dim] = query.shape
  const keyLen = key.shape[2]
  const x = query.data.subarray(at * queryLen * dim, (at + 1) * queryLen * dim)
  const y = key.data.subarray(at * keyLen * dim, (at + 1) * keyLen * dim)
  const squares = (vectors: Float32Array, count: number) =>
    Float64Array.from({length: count}, (_, i) => logitScale * dot(vectors, i, vectors, i, dim))
  const [own, others] = [squares(x, queryLen), squares(y, keyLen)]
  const wanted = Math.max(LEAST_QUERIES, BUDGET / (texts * keyLen * dim))
  for (const i of evenlySpaced(queryLen, wanted)) {
    const seen = keysInView(view, {queryLen, keyLen}, i)
    const logits = Float64Array.from({length: seen}, (_, j) => logitScale * dot(x, i, y, j, dim))
    const top = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY)
    const shares = logits.map(logit => Math.exp(logit - top))
    const sum = shares.reduce((total, own) => total + own, 0)
    for (let j = 0; j < seen; j++) {
      norms.push(own[i]! + others[j]! + 2 * logits[j]!)
      weights.push(shares[j]! / sum)
    }
  }
}

function dot(a: Float32Array, i: number, b: Float32Array, j: number, dim: number): number {
  let sum = 0
  for (let d = 0; d < dim; d++) sum += a[i * dim + d]! * b[j * dim + d]!
  return sum
}

/** The smallest of the norms that {@link ATTENDED} of all weight is at or below. */
function quantile({norms, weights}: Pairs): number {
  const order = Uint32Array.from(norms, (_, at) => at).sort((a, b) => norms[a]! - norms[b]!)
  const all = weights.reduce((total, own) => total + own, 0)
  let below = 0
  for (const at of order) {
    below += weights[at]!
    if (below >= ATTENDED * all) return norms[at]!
  }
  return norms[order.at(-1)!]!
}
