/** Orders of axes in words, as people write them beside arrays: `[batch, heads, length, head_dim]`. */
import type {Layout} from './layout.js'

/** Batch, heads, tokens, entries of a vector. */
type Axis = 'b' | 'h' | 'l' | 'd'

const NAMES: Readonly<Record<Axis, readonly string[]>> = {
  b: ['b', 'batch', 'batch_size', 'bsz', 'batches'],
  h: ['h', 'heads', 'head', 'num_heads', 'n_heads', 'n_head', 'nheads', 'kv_heads', 'num_kv_heads'],
  l: [
    ...['l', 's', 't', 'length', 'tokens', 'token', 'seq', 'seq_len', 'seq_length', 'seqlen'],
    ...['sequence', 'sequence_length', 'time', 'positions', 'query_len', 'key_len'],
  ],
  d: ['d', 'dim', 'head_dim', 'headdim', 'head_size', 'd_head', 'd_k', 'dk', 'channels'],
}

const AXES = new Map(
  (Object.keys(NAMES) as Axis[]).flatMap(axis => NAMES[axis].map(name => [name, axis] as const)),
)

/** What a text says of the order of axes. */
export interface SpelledLayout {
  /** How many axes it names. */
  axes: number
  /** `undefined`: an order in which no file is read. */
  layout: Layout | undefined
}

/**
 * Reads an order of axes in words or letters, with or without brackets: `[batch, heads, length, head_dim]`, `B x L x H x D`.
 *
 * @returns `undefined` for a text that is no such list, repeats an axis, or leaves one out that stands between others
 */
export function spelledLayout(text: string): SpelledLayout | undefined {
  const axes = wordsOf(text).map(word => AXES.get(word))
  const order = axes.join('')
  if (axes.includes(undefined) || new Set(axes).size !== axes.length) return undefined
  const needed: readonly Axis[] = order.includes('b') ? ['h', 'l', 'd'] : ['l', 'd']
  if (needed.some(axis => !order.includes(axis))) return undefined
  return {axes: axes.length, layout: layoutOf(order)}
}

/** Leading axes may be missing. */
function layoutOf(order: string): Layout | undefined {
  if (order.length > 1 && 'bhld'.endsWith(order)) return 'bhld'
  return 'blhd'.endsWith(order) ? 'blhd' : undefined
}

/** The items of a list in small letters, words joined by underscores; letters without anything between them are items. */
function wordsOf(text: string): string[] {
  const inner = text
    .replaceAll(/["'`]/g, '')
    .trim()
    .replace(/^[[({](.*)[\])}]$/s, '$1')
  const small = inner.trim().toLowerCase()
  if (/^[bhlstd]{2,4}$/.test(small)) return [...small]
  const between = small.includes(',') ? ',' : /\s+[x×*]\s+|×|\s+/
  return small.split(between).map(word => word.trim().replaceAll(/[\s-]+/g, '_'))
}
