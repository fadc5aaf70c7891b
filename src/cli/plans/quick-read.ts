/** `--quick` on a large model: fewer and shorter texts. */
import type {SwapPlan} from '../../experiments/swap/schema.js'
import type {ModelFacts} from '../../model/index.js'
import {plural} from '../../report/numbers.js'

/** Floating-point operations of a quick run: a minute at 100 billion a second. */
const MOST_FLOPS = 6e12

/** What it reads at least: an interval over fewer texts says little, and attention of shorter ones less. */
const LEAST = {texts: 5, tokens: 64}

/** Letters of a token, about. */
const LETTERS = 4

/** How much of its texts a plan reads. */
type Read = Pick<SwapPlan, 'texts' | 'max_tokens'>

/**
 * How much of its texts a quick plan reads: all, or of a large model fewer, then shorter ones. It depends on nothing but the plan, so
 * that every shard and every machine reads the same. Arrays are items of one size, and other devices than the processor read all.
 *
 * @param letters - of each text; of arrays nothing
 */
export function quickRead(
  plan: SwapPlan,
  {layers, width, vocabulary}: Pick<ModelFacts, 'layers' | 'width' | 'vocabulary'>,
  letters: readonly number[],
): Read {
  const {texts, max_tokens} = plan
  if (plan.device !== undefined) return {texts, max_tokens}
  // projections and feed-forward parts of a layer, and logits
  const weights = 12 * layers * width ** 2 + (plan.causal ? vocabulary * width : 0)
  const most = MOST_FLOPS / (2 * weights * passesOf(plan, layers))
  const tokensOf = (text: number) =>
    letters[text] === undefined ? max_tokens : Math.min(max_tokens, letters[text] / LETTERS)
  const least = Math.min(LEAST.texts, texts.count)
  let count = 0
  let tokens = 0
  while (count < texts.count && (count < least || tokens + tokensOf(count) <= most)) {
    tokens += tokensOf(count)
    count += 1
  }
  const fewer = {...texts, count}
  if (tokens <= most || texts.format) return {texts: fewer, max_tokens}
  const shorter = Math.max(LEAST.tokens, Math.floor(most / count))
  return {texts: fewer, max_tokens: Math.min(max_tokens, shorter)}
}

/** Forward passes, at most: of every method with every M, draw for draw, and of a search for every layer by itself. */
function passesOf(plan: SwapPlan, layers: number): number {
  const {methods, num_features, projections, layer_sets, replicates, budget} = plan
  const sets = budget === undefined ? layer_sets.length : layers + 1
  const variants = methods.length * (num_features?.length ?? 1) * (projections?.length ?? 1)
  return variants * replicates * sets
}

/** What is said where less is read than was planned. */
export function lessRead({texts, max_tokens}: Read, read: Read): string | undefined {
  const fewer = read.texts.count < texts.count
  const shorter = read.max_tokens < max_tokens
  if (!fewer && !shorter) return undefined
  const items = plural(read.texts.count, texts.format ? 'item' : 'text')
  const cut = shorter ? ` of at most ${read.max_tokens} tokens` : ''
  return `the model is large: --quick reads ${items}${cut}`
}
