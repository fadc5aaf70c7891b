import {significant} from '../../../report/numbers.js'
import {causalLabel, inputLabel} from '../../labels.js'
import type {CompletedSweep, ErrorSweepResult} from '../schema.js'
import {layersLabel} from './layers.js'

/** The facts that all cells of a section share, with the sizes that the run really had. */
export function sectionTitle(records: readonly CompletedSweep[]): string {
  const {cell, result} = records[0]!
  const sizes = [...new Set(records.map(({result}) => sizesText(result)))]
  const alike = records.every(one => one.result.ran_causal === result.ran_causal)
  const parts = [
    inputLabel(cell.input),
    ...[layersLabel(records)].flatMap(label => label ?? []),
    sizes.length === 1 ? sizes[0]! : 'of different sizes',
    causalLabel(cell.causal, alike ? result.ran_causal : null),
  ]
  const scales = [...new Set(records.flatMap(({result}) => unusualScale(result) ?? []))]
  if (scales.length > 0)
    parts.push(`logits ${scales.map(scale => significant(scale)).join(', ')} q.k`)
  if (cell.scale !== 1) parts.push(`q and k times ${significant(cell.scale)}`)
  return parts.join(', ')
}

function sizesText(result: ErrorSweepResult): string {
  const {batch, heads, key_heads, query_len, key_len, head_dim, value_dim} = result
  const shared = key_heads === null ? '' : ` (${key_heads} of keys)`
  return `B=${batch} H=${heads}${shared} L=${query_len} S=${key_len} D=${head_dim} Dv=${value_dim}`
}

/** The scale of logits, where it is another than usual. */
function unusualScale({logit_scale: scale, head_dim}: ErrorSweepResult): number | undefined {
  const usual = head_dim ** -0.5
  const same = scale === null || Math.abs(scale - usual) < ROUNDED * usual
  return same ? undefined : scale
}

/** A scale that was written with so many digits is the usual one: relative. */
const ROUNDED = 1e-6
