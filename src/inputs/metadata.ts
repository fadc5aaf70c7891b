/** What the texts in a file say of attention. */
import {describe, expected} from '../errors.js'
import {layerName} from './layers.js'
import {axesOf, DEFAULT_LAYOUT, LAYOUTS, type Layout} from './layout.js'

/** What a file says of attention, as it stands there; absent where it says nothing. */
export interface StatedTexts {
  scale?: string | undefined
  causal?: string | undefined
  layout?: string | undefined
}

/** The same, as far as it can be read. */
export interface StatedFacts {
  /** beta: logits of the model are `beta q.k`. */
  logitScale?: number
  /** Whether the model ran with a causal mask. */
  ranCausal?: boolean
  layout?: Layout
}

/** Settings that go before what a file says, which is not looked at then. */
export type StatedOverrides = Partial<Record<'logitScale' | 'layout', unknown>>

/**
 * `scale`, `causal` and `layout` of a file; a layer may have a separate `scale` and `causal`.
 *
 * @param metadata - texts by name
 * @param layer - its texts; `undefined`: texts without a layer
 */
export function statedTexts(
  metadata: Readonly<Record<string, string>>,
  layer: number | undefined,
): StatedTexts {
  const own = (name: string) =>
    (layer === undefined ? undefined : metadata[layerName(layer, name)]) ?? metadata[name]
  return {scale: own('scale'), causal: own('causal'), layout: metadata.layout}
}

/**
 * Reads what a file says.
 *
 * @param where - the file, in messages
 * @param overrides - settings that go before it
 * @returns without what cannot be read; {@link unreadTexts} warns of that
 * @throws {BAD_FILE} for what can be read and cannot be: a scale that is a number but not a positive one, an order of axes
 *   in which no file is read
 */
export function statedFacts(
  {scale, causal, layout}: StatedTexts,
  where: string,
  overrides: StatedOverrides = {},
): StatedFacts {
  const logitScale = isOpen(overrides.logitScale) ? scaleOf(scale, where) : undefined
  const read = isOpen(overrides.layout) ? layoutOf(layout, where) : undefined
  const ranCausal = truthOf(causal)
  return {
    ...(logitScale !== undefined && {logitScale}),
    ...(ranCausal !== undefined && {ranCausal}),
    ...(read !== undefined && {layout: read}),
  }
}

function isOpen(setting: unknown): boolean {
  return setting === undefined || setting === null
}

/**
 * A sentence for each text that cannot be read, with what is assumed in its place and what goes before it.
 *
 * @param settings - settings that go before it, and whether attention is causal here
 */
export function unreadTexts(
  {scale, causal, layout}: StatedTexts,
  {causal: isCausal, ...overrides}: StatedOverrides & {causal?: boolean | undefined},
): string[] {
  const unread: string[] = []
  const warn = (name: string, text: string, assumed: string, advice: string) =>
    unread.push(`metadata ${name} ${describe(text)} cannot be read: ${assumed}; ${advice}`)
  if (scale !== undefined && numberIn(scale) === undefined && isOpen(overrides.logitScale)) {
    warn('scale', scale, 'assumed 1/sqrt(D), the usual factor on q.k', 'set another with `scale`')
  }
  if (layout !== undefined && readLayout(layout) === undefined && isOpen(overrides.layout)) {
    warn('layout', layout, `assumed ${axesOf(DEFAULT_LAYOUT)}`, 'set another with `layout`')
  }
  if (causal !== undefined && truthOf(causal) === undefined && isCausal !== undefined) {
    const taken = `taken as ${isCausal ? 'causal' : 'bidirectional'}`
    warn('causal', causal, taken, 'say which with `causal` or `noCausal`')
  }
  return unread
}

/**
 * What to be wary of in a layout in words: it names other axes than the arrays have.
 *
 * @param rank - axes of the queries in the file
 * @returns a sentence, or `undefined`
 */
export function rankWarning(text: string | undefined, rank: number): string | undefined {
  const spelled = text === undefined || isLayout(text) ? undefined : spelledLayout(text)
  if (!spelled?.layout || spelled.axes === rank) return undefined
  const read = `the queries have ${rank}, read as ${axesOf(spelled.layout)}`
  return `metadata layout ${describe(text)} names ${spelled.axes} axes; ${read}`
}

/** Decimal numbers as programs write them; not what JavaScript also takes, such as `0x1` or nothing at all. */
const NUMBER = /^\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*$/i

/** The number that a text is; `undefined`: it is none. What is too large for one, and `inf`, count as infinite. */
function numberIn(text: string): number | undefined {
  if (!NUMBER.test(text)) return undefined
  return Number(text.replace(/inf(inity)?/i, 'Infinity'))
}

function scaleOf(text: string | undefined, where: string): number | undefined {
  const scale = text === undefined ? undefined : numberIn(text)
  if (scale === undefined || (scale > 0 && Number.isFinite(scale))) return scale
  const what = 'a positive decimal number, the factor on q.k'
  const remedy = 'name the factor with `scale`, which overrides it'
  throw expected('BAD_FILE', `${where}, metadata scale`, what, describe(text), remedy)
}

function truthOf(text: string | undefined): boolean | undefined {
  const truth = text?.trim().toLowerCase()
  if (truth === 'true' || truth === 'false') return truth === 'true'
  return undefined
}

function isLayout(text: string): text is Layout {
  return (LAYOUTS as readonly string[]).includes(text)
}

/** The layout that a text says; `null` for an order in which no file is read, `undefined` for a text that says none. */
export function readLayout(text: string): Layout | null | undefined {
  if (isLayout(text)) return text
  const spelled = spelledLayout(text)
  return spelled && (spelled.layout ?? null)
}

function layoutOf(text: string | undefined, where: string): Layout | undefined {
  const layout = text === undefined ? undefined : readLayout(text)
  if (layout !== null) return layout
  const place = `${where}, metadata layout`
  const what = `axes in the order ${LAYOUTS.map(axesOf).join(' or ')}`
  const other =
    'or, where the metadata are wrong, name the order with `layout`, which overrides them'
  throw expected('BAD_FILE', place, what, describe(text), 'transpose the arrays', other)
}

/** Orders of axes in words, as people write them: batch, heads, tokens, entries of a vector. */
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
interface SpelledLayout {
  /** How many axes it names. */
  axes: number
  /** `undefined`: an order in which no file is read. */
  layout: Layout | undefined
}

/**
 * Reads an order of axes in words or letters, with or without brackets: `[batch, heads, length, head_dim]`, `B x L x H x D`.
 *
 * @returns `undefined` for a text that is not such a list, repeats an axis, or leaves out one between others
 */
function spelledLayout(text: string): SpelledLayout | undefined {
  const axes = wordsOf(text).map(word => AXES.get(word))
  const order = axes.join('')
  if (axes.includes(undefined) || new Set(axes).size !== axes.length) return undefined
  const needed: readonly Axis[] = order.includes('b') ? ['h', 'l', 'd'] : ['l', 'd']
  if (needed.some(axis => !order.includes(axis))) return undefined
  return {axes: axes.length, layout: layoutOfOrder(order)}
}

/** Leading axes may be missing. */
function layoutOfOrder(order: string): Layout | undefined {
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
