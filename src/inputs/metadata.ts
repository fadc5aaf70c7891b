/** What the texts beside the arrays of a file say of attention. */
import {describe, expected} from '../errors.js'
import {layerName} from './layers.js'
import {LAYOUTS, type Layout} from './layout.js'

/** What a file says of attention, as it stands there; absent where it says nothing. */
export interface StatedTexts {
  scale?: string | undefined
  causal?: string | undefined
  layout?: string | undefined
}

/** The same, read. */
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
 * `scale`, `causal` and `layout` of a file; a layer may have a `scale` of its own.
 *
 * @param metadata - texts by name
 * @param layer - whose they are; `undefined`: arrays of no layer
 */
export function statedTexts(
  metadata: Readonly<Record<string, string>>,
  layer: number | undefined,
): StatedTexts {
  const {scale, causal, layout} = metadata
  const own = layer === undefined ? undefined : metadata[layerName(layer, 'scale')]
  return {scale: own ?? scale, causal, layout}
}

/**
 * Reads what a file says.
 *
 * @param where - the file, in messages
 * @param overrides - settings that go before it
 * @returns without `ranCausal` where the text is neither true nor false: nothing is computed by it
 * @throws {BAD_FILE} for a scale that is no positive number, and a layout that is none
 */
export function statedFacts(
  {scale, causal, layout}: StatedTexts,
  where: string,
  overrides: StatedOverrides = {},
): StatedFacts {
  const given = (setting: unknown) => setting !== undefined && setting !== null
  const truth = causal?.toLowerCase()
  return {
    ...(scale !== undefined && !given(overrides.logitScale) && {logitScale: scaleOf(scale, where)}),
    ...((truth === 'true' || truth === 'false') && {ranCausal: truth === 'true'}),
    ...(layout !== undefined && !given(overrides.layout) && {layout: layoutOf(layout, where)}),
  }
}

/** Decimal numbers as programs write them; not what JavaScript also takes, such as `0x1` or nothing at all. */
const DECIMAL = /^\s*\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i

function scaleOf(text: string, where: string): number {
  const scale = DECIMAL.test(text) ? Number(text) : Number.NaN
  if (scale > 0 && Number.isFinite(scale)) return scale
  throw expected(
    'BAD_FILE',
    `${where}, metadata scale`,
    'a positive decimal number, the factor on q.k',
    describe(text),
    'name the factor with `scale`, which goes before it',
  )
}

function layoutOf(text: string, where: string): Layout {
  const layout = LAYOUTS.find(known => known === text)
  if (layout !== undefined) return layout
  throw expected(
    'BAD_FILE',
    `${where}, metadata layout`,
    `one of ${LAYOUTS.join(', ')}`,
    describe(text),
    'name it with `layout`, which goes before it',
  )
}
