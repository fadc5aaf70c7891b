/** Held-out errors of all records, by variant. */
import {groupBy} from '../../../report/groups.js'
import {
  type Estimate,
  linearised,
  type MeanInterval,
  mapped,
  mean,
  overDrawsAndTexts,
  ratioOfMeans,
} from '../../../stats/index.js'
import {type CompletedTune, VARIANTS, type Variant, type VariantError} from '../schema.js'

export interface VariantRow {
  variant: Variant
  /** As tables have it. */
  label: string
  /** rel L2 of all layers, root mean square over layers and draws; with its interval over draws and texts. */
  all: MeanInterval
  /** The same of each layer. */
  layers: {layer: number | undefined; error: number | null}[]
  /** Squares of `all`: a row for each draw, in it the held-out texts. */
  squares: readonly (readonly number[])[]
}

const LABELS: Partial<Record<Variant, string>> = {mean_value: 'averaging V', zero: 'zero output'}

/** A row for each variant that was measured, the lowest error first. */
export function variantRows(rows: readonly CompletedTune[]): VariantRow[] {
  return VARIANTS.flatMap(variant => {
    const own = rows.flatMap(({result}) => result.errors).find(one => one.variant === variant)
    if (!own) return []
    const squares = squaresOf(rows, variant)
    return [
      {
        variant,
        label:
          variant === 'more_features'
            ? `M=${own.variant_num_features}`
            : (LABELS[variant] ?? variant),
        all: rootOf(overDrawsAndTexts(squares)),
        layers: layersOf(rows).map(([layer, group]) => ({layer, error: relL2(group, variant)})),
        squares,
      },
    ]
  }).toSorted((a, b) => (a.all.mean ?? Infinity) - (b.all.mean ?? Infinity))
}

/** Error of a variant over that of another one, on the same draws and texts; ends are `NaN` with a single text. */
export function errorRatio({squares: a}: VariantRow, {squares: b}: VariantRow): Estimate {
  const {value, low, high} = ratioOfMeans(a, b).estimate
  const isKnown = a[0]!.length > 1
  const ratio = isKnown ? {value, low, high} : {value, low: Number.NaN, high: Number.NaN}
  return mapped(ratio, root)
}

/** No error is below zero, whatever Student's t says of few draws. */
function root(square: number): number {
  return Math.sqrt(Math.max(0, square))
}

function rootOf({mean, low, high}: MeanInterval): MeanInterval {
  const of = (square: number | null) => (square === null ? null : root(square))
  return {mean: of(mean), low: of(low), high: of(high)}
}

/** Records by layer, in ascending order. */
export function layersOf(
  rows: readonly CompletedTune[],
): [layer: number | undefined, rows: readonly CompletedTune[]][] {
  return groupBy(rows, ({cell}) => String(cell.layer))
    .map((group): [number | undefined, readonly CompletedTune[]] => [group[0]!.cell.layer, group])
    .toSorted(([a], [b]) => (a ?? 0) - (b ?? 0))
}

/** Squared errors, means over layers: a row for each draw that all layers have, in it the texts. */
function squaresOf(rows: readonly CompletedTune[], variant: Variant): number[][] {
  const layers = layersOf(rows).map(([, group]) => byDraw(group, variant))
  const all = [...layers[0]!.keys()].filter(draw => layers.every(layer => layer.has(draw)))
  // of layers without a draw in common the first of each
  const tables =
    all.length > 0
      ? layers.map(layer => all.map(draw => layer.get(draw)!))
      : layers.map(layer => [...layer.values()].slice(0, 1))
  const texts = new Set(tables.flat().map(({length}) => length))
  // layers of other texts have nothing but their means in common
  const alike = texts.size === 1 ? tables : tables.map(table => table.map(row => [mean(row)]))
  return alike[0]!.map((row, draw) =>
    row.map((_, text) => mean(alike.map(table => table[draw]?.[text] ?? Number.NaN))),
  )
}

/** Squared errors of the texts in each draw; their mean is the squared error of all. */
function byDraw(rows: readonly CompletedTune[], variant: Variant): Map<number, number[]> {
  return new Map(
    rows.flatMap(({result: {errors, text_weights}}) =>
      errors
        .filter(one => one.variant === variant)
        .map(one => [one.replicate, textSquares(one, text_weights)] as const),
    ),
  )
}

function textSquares({rel_l2, per_text}: VariantError, weights: readonly number[]): number[] {
  const square = (error: number | null | undefined) => (error ?? Number.NaN) ** 2
  if (per_text.length === 0 || per_text.length !== weights.length) return [square(rel_l2)]
  // a text of padding alone counts nothing
  const squares = per_text.map((error, text) => (weights[text] === 0 ? 0 : square(error)))
  return linearised([squares], weights)[0]!
}

/** rel L2 of a layer, root mean square over draws; `null` where one is not a number. */
export function relL2(rows: readonly CompletedTune[], variant: Variant): number | null {
  const found = Math.sqrt(mean([...byDraw(rows, variant).values()].map(row => mean(row))))
  return Number.isFinite(found) ? found : null
}
