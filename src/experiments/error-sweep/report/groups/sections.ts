/** The parts that a report of a sweep is in, how they are called, and the order of their rows. */
import {numbered} from '../../../../inputs/layers.js'
import {groupBy, inOrder} from '../../../../report/groups.js'
import {significant} from '../../../../report/numbers.js'
import {viewOf} from '../../../axes.js'
import {
  causalLabel,
  cornerText,
  inputsLabel,
  methodLabel,
  projectionLabel,
  variantLabel,
} from '../../../labels.js'
import {unusualScale} from '../../../logit-scale.js'
import type {CompletedSweep, ErrorSweepCell, HeldSweepResult} from '../../schema.js'

/** What cells of one input share: layers of a run belong together, though each may lie in a separate file. */
export function sourceOf({input, layer}: Pick<ErrorSweepCell, 'input' | 'layer'>): object {
  return input.kind === 'generator' || layer === undefined ? input : {names: input.names}
}

/** Records of one input, length, scale and causality together; its layers are rows. */
export function sectionsOf(completed: readonly CompletedSweep[]): CompletedSweep[][] {
  return groupBy(completed, ({cell}) => {
    const {seq_len, scale, logit_scale, causal} = cell
    return JSON.stringify([sourceOf(cell), seq_len, scale, logit_scale, causal])
  })
}

/** What tables of errors are made of. */
export function byTarget(section: readonly CompletedSweep[]): CompletedSweep[][] {
  return groupBy(section, ({cell}) => cell.target)
}

/** Variants in the order in which they ran, by M and layer. */
export function sorted(records: readonly CompletedSweep[]): CompletedSweep[] {
  return inOrder(
    records,
    [({cell}) => methodLabel(cell), ({cell}) => projectionLabel(cell) ?? ''],
    [({cell}) => cell.num_features ?? 0, ({cell}) => cell.layer ?? 0],
  )
}

/** The row with the most features of each variant of each layer. */
export function atLargestFeatures(rows: readonly CompletedSweep[]): CompletedSweep[] {
  return groupBy(rows, row => JSON.stringify([rowLabel(row), row.cell.layer])).map(withMostFeatures)
}

/** The first row with the most features. @param rows - at least one */
export function withMostFeatures(rows: readonly CompletedSweep[]): CompletedSweep {
  return rows.reduce((a, b) => (featuresOf(b) > featuresOf(a) ? b : a))
}

/** M of a row; 0: it has none. */
export function featuresOf({cell}: CompletedSweep): number {
  return cell.num_features ?? 0
}

/** A variant where M stands elsewhere. */
export function rowLabel({cell}: CompletedSweep): string {
  return variantLabel({...cell, num_features: null})
}

/** The records of each layer, layers in ascending order; all together where the input has none. */
export function byLayer(records: readonly CompletedSweep[]): CompletedSweep[][] {
  const groups = groupBy(records, ({cell}) => String(cell.layer))
  return groups.toSorted(([a], [b]) => (a!.cell.layer ?? 0) - (b!.cell.layer ?? 0))
}

/** `layer 3`, `layers 0, 3`; nothing of an input without layers. */
export function layersLabel(records: readonly CompletedSweep[]): string | undefined {
  const layers = byLayer(records).flatMap(([first]) => first!.cell.layer ?? [])
  if (layers.length === 0) return undefined
  return numbered(layers)
}

/**
 * Sentences on each layer by itself: rows are compared within a layer only. What is true of several is said once, with
 * their numbers before it where it is not true of all.
 */
export function itemsByLayer(
  records: readonly CompletedSweep[],
  itemsOf: (layer: readonly CompletedSweep[]) => readonly string[],
): string[] {
  const layers = byLayer(records)
  if (layers.length < 2) return layers.flatMap(itemsOf)
  const said = new Map<string, CompletedSweep[]>()
  for (const layer of layers) {
    for (const item of itemsOf(layer)) said.set(item, [...(said.get(item) ?? []), layer[0]!])
  }
  return [...said].map(([item, own]) =>
    own.length === layers.length ? item : `${layersLabel(own)}: ${item}`,
  )
}

/** The facts that all cells of a section share, with the sizes that the run really had. */
export function sectionTitle(records: readonly CompletedSweep[]): string {
  const {cell, result} = records[0]!
  const sizes = [...new Set(records.map(({result}) => sizesText(result)))]
  const alike = records.every(one => one.result.ran_causal === result.ran_causal)
  const parts = [
    inputsLabel(records.map(({cell}) => cell.input)),
    ...[layersLabel(records)].flatMap(label => label ?? []),
    sizes.length === 1 ? sizes[0]! : 'of different sizes',
    causalLabel(cell.causal, alike ? result.ran_causal : null) +
      cornerText({queryLen: result.query_len, keyLen: result.key_len}, viewOf(cell)),
  ]
  const scales = [...new Set(records.flatMap(({result}) => unusualScale(result) ?? []))]
  if (scales.length > 0)
    parts.push(`logits ${scales.map(scale => significant(scale)).join(', ')} q.k`)
  if (cell.scale !== 1) parts.push(`q and k times ${significant(cell.scale)}`)
  return parts.join(', ')
}

function sizesText(result: HeldSweepResult): string {
  const {batch, heads, key_heads, query_len, key_len, head_dim, value_dim} = result
  const shared = key_heads === null ? '' : ` (${key_heads} of keys)`
  return `B=${batch} H=${heads}${shared} L=${query_len} S=${key_len} D=${head_dim} Dv=${value_dim}`
}
