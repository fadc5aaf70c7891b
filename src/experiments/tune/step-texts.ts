/** How many texts a step learns on. */
import type {Loss} from '../../tuned/index.js'

/** Most tokens of a step, padding among them: more texts take turns. */
const MOST_TOKENS = 8192
/** Most weights of a step where rows of them are learned for: 64 MiB for each matrix of all. */
const MOST_WEIGHTS = 2 ** 24

/** Texts that fit into a step: one at least. */
export function stepTexts(
  {heads, queryLen, keyLen}: {heads: number; queryLen: number; keyLen: number},
  loss: Loss = 'outputs',
): number {
  const ofTokens = MOST_TOKENS / Math.max(queryLen, keyLen)
  const ofWeights = loss === 'rows' ? MOST_WEIGHTS / (heads * queryLen * keyLen) : Infinity
  return Math.max(1, Math.floor(Math.min(ofTokens, ofWeights)))
}
