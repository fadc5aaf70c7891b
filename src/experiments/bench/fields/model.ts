/** Whole models, as a benchmark times them. */
import {expected} from '../../../errors.js'
import type {ModelFacts} from '../../../model/index.js'
import {kvHeadsOf} from './grouped.js'

/** Sizes of the attention of a model, as plans and cells have them. */
export function benchSizesOf({
  heads,
  keyHeads,
  headDim,
}: Pick<ModelFacts, 'heads' | 'keyHeads' | 'headDim'>) {
  const shared = kvHeadsOf({heads, kv_heads: keyHeads})
  return {heads, ...shared, head_dim: headDim, value_dim: headDim}
}

/** The longest text that a model reads in one piece: it has positions for it, and no token falls out of a window. */
export function mostTokens({maxTokens, window}: Pick<ModelFacts, 'maxTokens' | 'window'>): number {
  return Math.min(maxTokens, window ?? maxTokens)
}

/** @throws {UNSUPPORTED} for lengths that a model does not read */
export function assertReads(
  folder: string,
  facts: Pick<ModelFacts, 'maxTokens' | 'window'>,
  lengths: readonly number[],
): void {
  const most = mostTokens(facts)
  const longest = Math.max(...lengths)
  if (longest <= most) return
  const why = most < facts.maxTokens ? 'its sliding window' : 'its positions'
  const what = `at most ${most} tokens, ${why}`
  throw expected('UNSUPPORTED', folder, what, String(longest), `\`seqLen: ${most}\``)
}
