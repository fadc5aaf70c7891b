/** What to know of an input before its errors are believed. */
import {layoutWarning} from '../../inputs/attention-input.js'
import {isPackagedLayer} from '../../inputs/packaged.js'
import type {CompletedSweep} from './schema.js'

/**
 * Notes on the input of a section: axes that look exchanged, and a model's mask that is left out.
 *
 * @param record - any of the section
 */
export function inputNotes({cell, result}: CompletedSweep): string[] {
  return [...exchangedAxes({cell, result}), ...leftOutMask(cell)]
}

/** Only of whole files: how many tokens there are beyond those that were asked for is not recorded. */
function exchangedAxes({cell, result}: Pick<CompletedSweep, 'cell' | 'result'>): string[] {
  const {input, seq_len} = cell
  if (input.kind !== 'file' || seq_len !== null) return []
  const {heads, query_len: queryLen, key_len: keyLen} = result
  const warning = layoutWarning({heads, queryLen, keyLen}, input.layout)
  return warning === undefined ? [] : [warning.replaceAll(/`layout(?:: (\w+))?`/g, asTyped)]
}

/** A setting as it is typed: `--layout blhd`. */
function asTyped(_: string, value?: string): string {
  return value === undefined ? '--layout' : `--layout ${value}`
}

function leftOutMask({input, causal}: CompletedSweep['cell']): string[] {
  if (causal || !isPackagedLayer(input)) return []
  return [
    'the arrays are those of a causal model, here without its mask; --causal is attention as it ran',
  ]
}
